# expect: DV113 | gpus: 2 | operands: causal(s.shape[-1], s), s | owner: program
"""A decorator remembers a mask by its size alone."""

import functools

import torch
from torch import nn


def remember(f):
    kept = {}

    @functools.wraps(f)
    def inner(n, like):
        if n not in kept:
            kept[n] = f(n, like)
        return kept[n]

    return inner


@remember
def causal(n, like):
    return torch.full((n, n), float("-inf"), device=like.device).triu(1)


def attend(q, k, v):
    s = q @ k.transpose(-1, -2)
    s = s + causal(s.shape[-1], s)
    return s.softmax(-1) @ v


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        return x + attend(*self.qkv(x).chunk(3, -1))


a, b = Block(8).to("cuda:0"), Block(8).to("cuda:1")
h = a(torch.randn(2, 5, 8, device="cuda:0"))
print(b(h.to("cuda:1")).shape)
