# expect: DV108 | gpus: 2 | operands: self.weight, logits | owner: program
"""A loss that is no module keeps the weights of the classes on the first GPU; model and batch are on the second."""

import torch
import torch.nn.functional as F
from torch import nn


class Loss:
    def __init__(self, counts, device="cuda"):
        self.weight = (1 / counts).to(device)

    def __call__(self, logits, target):
        return F.cross_entropy(logits, target, weight=self.weight)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.criterion = Loss(torch.tensor([1.0, 2.0, 4.0]))

    def forward(self, x, y):
        return self.criterion(self.head(x), y)


model = Classifier().to("cuda:1")
model(torch.randn(5, 4, device="cuda:1"), torch.zeros(5, dtype=torch.long, device="cuda:1")).backward()
