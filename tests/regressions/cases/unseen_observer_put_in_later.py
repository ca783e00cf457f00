# expect: DV105 | gpus: 1 | operands: x, step | owner: program
"""Observers are put into a model that is on its GPU already; what is computed from their buffer is on the CPU."""

import torch
from torch import nn


class Observer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("range", torch.ones(1, 1))

    def forward(self, x):
        step = self.range.clamp(min=1e-3) / 127
        return (x / step).round() * step


def observe(model):
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, nn.Sequential(Observer(), child))
    return model


model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to("cuda")
observe(model)(torch.randn(3, 4, device="cuda")).sum().backward()
