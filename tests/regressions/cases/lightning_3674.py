# expect: DV108 | gpus: 1 | operands: x, MEAN | owner: program
"""A constant of the file is used inside of a module."""

import torch

MEAN = torch.tensor([0.5, 0.5, 0.5, 0.5])


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.lin(x)
        return x - MEAN


Model().cuda()(torch.randn(2, 4).cuda())
