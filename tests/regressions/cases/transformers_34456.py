# expect: DV105 | gpus: 2 | operands: x, self.inv_freq | owner: program
"""A buffer of a module that the map forgets stays on the host."""

import torch
from accelerate import dispatch_model


class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", torch.arange(4.0), persistent=False)

    def forward(self, x):
        return x * self.inv_freq


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Linear(4, 4)
        self.rotary = Rotary()
        self.head = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.rotary(self.embed(x)))


model = dispatch_model(Model(), {"embed": 0, "head": 1})
model(torch.randn(2, 4))
