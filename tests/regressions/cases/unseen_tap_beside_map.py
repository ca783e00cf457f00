# expect: DV101 | gpus: 2 | operands: self.tap.pop(), self.projector.weight | owner: program
"""A projector beside a dispatched tower is given what a hook inside the tower saw."""

import torch
from accelerate import dispatch_model
from torch import nn


class Tap:
    def __init__(self, layer):
        self.seen = None
        layer.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.seen = output

    def pop(self):
        return self.seen


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        tower = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        self.tap = Tap(tower[0])
        self.tower = dispatch_model(tower, {"": 1}, force_hooks=True)
        self.projector = nn.Linear(4, 2).to("cuda:0")

    def forward(self, x):
        self.tower(x)
        return self.projector(self.tap.pop())


model = Reader()
model(torch.randn(3, 4, device="cuda:0"))
