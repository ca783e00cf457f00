# expect: DV103 | gpus: 2 | operands: p, self.anchor[name] | owner: program
"""A penalty's anchor is copied from the weights before the Trainer moves the model."""

import tempfile

import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, x, labels=None):
        logits = self.head(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class Anchored(Trainer):
    def __init__(self, model, **kwargs):
        self.anchor = {name: p.detach().clone() for name, p in model.named_parameters()}
        super().__init__(model=model, **kwargs)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        drift = sum((p - self.anchor[name]).square().sum() for name, p in self.model.named_parameters())
        loss = outputs["loss"].mean() + drift
        return (loss, outputs) if return_outputs else loss


data = [{"x": torch.ones(4), "labels": torch.tensor(1)} for _ in range(8)]
arguments = TrainingArguments(tempfile.mkdtemp(), max_steps=1, report_to=[], disable_tqdm=True)
Anchored(Model(), args=arguments, train_dataset=data).train()
