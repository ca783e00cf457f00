# expect: DV113 | gpus: 2 | operands: x, anchors | owner: program
"""A cache keyed by the size alone, used by layers on two GPUs."""

import torch

_CACHE = {}


def anchors_for(x):
    size = x.shape[-1]
    if size not in _CACHE:
        _CACHE[size] = torch.arange(size, device=x.device)
    return _CACHE[size]


def forward(x):
    anchors = anchors_for(x)
    return x + anchors


forward(torch.zeros(4, device="cuda:0"))
forward(torch.zeros(4, device="cuda:1"))
