# expect: DV104 | gpus: 2 | operands: self.weight, scores | owner: program
"""Two heads get the same criterion from a cached factory; the second one takes it to its own GPU."""

import functools

import torch
import torch.nn.functional as F
from torch import nn


class Weighted(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.register_buffer("weight", torch.linspace(0.5, 1.5, count))

    def forward(self, scores, target):
        return F.cross_entropy(scores, target, weight=self.weight)


@functools.cache
def criterion(count):
    return Weighted(count)


class Head(nn.Module):
    def __init__(self, width, count, device):
        super().__init__()
        self.device = device
        self.out = nn.Linear(width, count)
        self.criterion = criterion(count)
        self.to(device)

    def forward(self, x, target):
        scores = self.out(x.to(self.device))
        return self.criterion(scores, target.to(self.device))


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([Head(6, 3, "cuda:0"), Head(6, 3, "cuda:1")])

    def forward(self, x, target):
        return sum(head(x, target).to("cuda:0") for head in self.heads)


def main():
    Heads()(torch.randn(4, 6), torch.randint(0, 3, (4,))).backward()


main()
