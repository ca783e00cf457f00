# expect: DV102 | gpus: 1 | operands: loss_fct.weight, logits | owner: program
"""A Trainer subclass weighs the classes with a tensor that it makes on the host in every step."""

import tempfile

import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class WeightedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.get("logits")
        loss_fct = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0]))
        loss = loss_fct(logits.view(-1, self.model.config.num_labels), labels.view(-1))
        return (loss, outputs) if return_outputs else loss


config = BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, num_labels=2
)
data = [{"input_ids": torch.randint(0, 40, (6,)), "labels": i % 2} for i in range(8)]
with tempfile.TemporaryDirectory() as folder:
    args = TrainingArguments(
        folder, max_steps=2, per_device_train_batch_size=4, report_to="none", disable_tqdm=True, save_strategy="no"
    )
    trainer = WeightedTrainer(model=BertForSequenceClassification(config), args=args, train_dataset=data)
    trainer.train()
