# expect: DV108 | gpus: 1 | operands: x, self.scale | owner: program
"""A tensor as a plain attribute does not move with its module."""

import torch


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(4)
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.lin(x)
        return x * self.scale


Norm().cuda()(torch.randn(2, 4).cuda())
