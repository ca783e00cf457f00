# expect: DV102 | gpus: 1 | operands: scores, mask | owner: program
"""A mask is made by a helper that knows no device."""

import torch
from torch import nn


def causal_mask(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1)


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1)
        mask = causal_mask(scores.shape[-1])
        return scores.masked_fill(mask, float("-inf")).softmax(-1) @ v


Attention(4).to("cuda:0")(torch.randn(2, 3, 4, device="cuda:0"))
