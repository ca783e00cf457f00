# expect: DV108 | gpus: 2 | operands: w, x | owner: program
"""A pooling function gets its weights by functools.partial in a constructor."""

from functools import partial

import torch
from torch import nn


def weighted(x, w):
    return (x * w).sum(-1)


class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.proj = nn.Linear(d, d)
        self.reduce = partial(weighted, w=torch.linspace(0, 1, d))

    def forward(self, x):
        return self.reduce(self.proj(x))


m = Pool(6).to("cuda:1")
print(m(torch.randn(3, 6, device="cuda:1")))
