# expect: clean | gpus: 2
"""DataParallel over a model with a causal mask that it holds."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, n, device):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.register_buffer("mask", torch.full((n, n), -1e9).triu(1))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) + self.mask
        return scores.softmax(-1) @ v


device = "cuda:0"
model = nn.DataParallel(Attention(8, 5, device).to(device), device_ids=[0, 1])
print(model(torch.randn(4, 5, 8, device=device)).shape)
