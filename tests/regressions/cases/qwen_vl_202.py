# expect: DV107 | gpus: 2 | operands: self.gate(x).sigmoid(), self.up(x) | owner: accelerate
"""A gated feed-forward part that the map cuts."""

import torch
from accelerate import dispatch_model


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(4, 4)
        self.up = torch.nn.Linear(4, 4)
        self.down = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.down(self.gate(x).sigmoid() * self.up(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.h = torch.nn.ModuleList([Mlp(), Mlp()])

    def forward(self, x):
        return self.h[1](self.h[0](x))


model = dispatch_model(Model(), {"h.0": 0, "h.1.gate": 0, "h.1.up": 1, "h.1.down": 1})
model(torch.randn(2, 4))
