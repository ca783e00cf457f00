# expect: DV109 | gpus: 2 | operands: self.a.weight, x | owner: program
"""Adapters that are layers of their own, written by hand and put into a model that a device map has split."""

import torch
from accelerate import dispatch_model
from torch import nn


class Adapted(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.a = nn.Linear(base.in_features, 2, bias=False)
        self.b = nn.Linear(2, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + self.b(self.a(x))


model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
model.requires_grad_(False)
model = dispatch_model(model, {"0": 0, "1": 1, "2": 1})
model[0], model[2] = Adapted(model[0]), Adapted(model[2])
model(torch.ones(2, 4, device="cuda:0")).sum().backward()
