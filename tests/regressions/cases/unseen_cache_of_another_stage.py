# expect: DV113 | gpus: 2 | operands: x, bias | owner: program
"""Positions are cached by length alone, and blocks on two GPUs share the cache: the second gets what the first made."""

import torch
from torch import nn


class PositionCache:
    def __init__(self):
        self.entries = {}

    def bias(self, like):
        if like.shape[1] not in self.entries:
            steps = torch.arange(like.shape[1], device=like.device, dtype=like.dtype)
            self.entries[like.shape[1]] = (-(steps[:, None] - steps).abs()).softmax(-1)
        return self.entries[like.shape[1]]


class Block(nn.Module):
    def __init__(self, cache):
        super().__init__()
        self.mix = nn.Linear(4, 4)
        self.cache = cache

    def forward(self, x):
        bias = self.cache.bias(x)
        return self.mix(torch.einsum("ij,bjd->bid", bias, x))


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        shared = PositionCache()
        self.lower, self.upper = Block(shared).to("cuda:0"), Block(shared).to("cuda:1")

    def forward(self, x):
        return self.upper(self.lower(x).to("cuda:1"))


Stack()(torch.randn(2, 3, 4, device="cuda:0")).sum().backward()
