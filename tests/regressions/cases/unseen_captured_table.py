# expect: DV108 | gpus: 1 | operands: table, torch.tanh(t) | owner: program
"""An activation is a lambda that captured its table."""

import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, d):
        super().__init__()
        table = torch.rand(d)
        self.act = lambda t: torch.tanh(t) * table
        self.l = nn.Linear(d, d)

    def forward(self, x):
        return self.act(self.l(x))


m = Scale(7).cuda()
print(m(torch.rand(2, 7).cuda()))
