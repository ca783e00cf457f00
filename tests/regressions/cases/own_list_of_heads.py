# expect: DV108 | gpus: 1 | operands: features, head.weight | owner: program
"""Heads in a plain list are not moved with the model."""

import torch
from torch import nn


class MultiHead(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.trunk = nn.Linear(4, 4)
        self.heads = [nn.Linear(4, 1, bias=False) for _ in range(heads)]

    def forward(self, x):
        features = self.trunk(x).relu()
        return torch.cat([head(features) for head in self.heads], dim=1)


net = MultiHead(3).to(torch.device("cuda"))
net(torch.randn(2, 4, device="cuda"))
