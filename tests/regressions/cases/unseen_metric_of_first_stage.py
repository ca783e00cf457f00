# expect: DV101 | gpus: 2 | operands: self.tp, tp | owner: program
"""Metrics go to the device of the first stage, what they count comes from the last."""

import torch
from torch import nn
from torchmetrics.classification import MulticlassAccuracy


class Pipeline(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8).to("cuda:0")
        self.last = nn.Linear(8, 3).to("cuda:1")

    def forward(self, x):
        return self.last(torch.relu(self.first(x.to("cuda:0"))).to("cuda:1"))


class Evaluator:
    def __init__(self, model):
        device = next(model.parameters()).device
        self.accuracy = MulticlassAccuracy(num_classes=3, average="micro").to(device)

    def update(self, logits, labels):
        self.accuracy.update(logits.argmax(-1), labels.to(logits.device))


model = Pipeline()
evaluator = Evaluator(model)
evaluator.update(model(torch.randn(5, 6)), torch.randint(0, 3, (5,)))
