# expect: DV105 | gpus: 2 | operands: x, self.gain | owner: program
"""The map names a parameter; accelerate places modules, and the parameter stays behind."""

import torch
from accelerate import dispatch_model


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(4))
        self.proj = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.proj(x)
        return x * self.gain


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


model = dispatch_model(Model(), {"blocks.0": 0, "blocks.1.gain": 0, "blocks.1.proj": 1})
model(torch.randn(2, 4))
