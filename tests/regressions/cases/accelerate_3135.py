# expect: DV107 | gpus: 2 | operands: residual, hidden | owner: accelerate
"""The map cuts inside a block, and `+` has no hook."""

import torch
from accelerate import dispatch_model


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.Linear(4, 4)
        self.mlp = torch.nn.Linear(4, 4)

    def forward(self, x):
        residual = self.attention(x)
        hidden = self.mlp(residual)
        return residual + hidden


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


model = dispatch_model(Model(), {"layers.0": 0, "layers.1.attention": 0, "layers.1.mlp": 1})
model(torch.randn(2, 4))
