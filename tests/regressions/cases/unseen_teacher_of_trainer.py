# expect: DV105 | gpus: 2 | operands: self.word_embeddings.weight, input_ids | owner: transformers
"""A Trainer moves its model; the teacher beside it stays on the CPU."""

import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

torch.manual_seed(0)

VOCAB, CLASSES = 120, 5


class Reviews(Dataset):
    """Token ids and a label that depends on them."""

    def __init__(self, n=64, length=20):
        g = torch.Generator().manual_seed(5)
        self.ids = torch.randint(1, VOCAB, (n, length), generator=g)
        self.labels = self.ids.sum(1) % CLASSES

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}


class ConvStudent(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.conv = nn.Conv1d(width, width, 3, padding=1)
        self.out = nn.Linear(width, CLASSES)

    def forward(self, input_ids):
        x = self.embed(input_ids).transpose(1, 2)
        x = torch.relu(self.conv(x)).amax(dim=2)
        return {"logits": self.out(x)}


class DistillationTrainer(Trainer):
    def __init__(self, *args, teacher=None, temperature=2.0, alpha=0.7, **kwargs):
        super().__init__(*args, **kwargs)
        self.teacher = teacher.eval().requires_grad_(False)
        self.temperature = temperature
        self.alpha = alpha

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        outputs = model(input_ids=inputs["input_ids"])
        student_logits = outputs["logits"]
        hard = F.cross_entropy(student_logits, labels)
        with torch.no_grad():
            teacher_logits = self.teacher(input_ids=inputs["input_ids"]).logits
        t = self.temperature
        soft = (
            F.kl_div(
                F.log_softmax(student_logits / t, dim=-1),
                F.softmax(teacher_logits / t, dim=-1),
                reduction="batchmean",
            )
            * t
            * t
        )
        loss = self.alpha * soft + (1 - self.alpha) * hard
        return (loss, outputs) if return_outputs else loss


def build_teacher():
    config = BertConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=40,
        num_labels=CLASSES,
    )
    return BertForSequenceClassification(config)


def main():
    with tempfile.TemporaryDirectory() as workdir:
        args = TrainingArguments(
            output_dir=workdir,
            per_device_train_batch_size=4,
            max_steps=4,
            learning_rate=1e-3,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            remove_unused_columns=False,
            disable_tqdm=True,
        )
        trainer = DistillationTrainer(
            model=ConvStudent(),
            args=args,
            train_dataset=Reviews(),
            teacher=build_teacher(),
        )
        trainer.train()
        for record in trainer.state.log_history:
            if "loss" in record:
                print(record["step"], record["loss"])


if __name__ == "__main__":
    main()
