# expect: DV113 | gpus: 2
"""Rotary tables are kept in a dictionary by length; the stages are on two GPUs."""

import torch
from torch import nn


class Rope:
    def __init__(self, dim):
        self.dim = dim
        self.tables = {}

    def __call__(self, x):
        key = x.shape[1]
        if key not in self.tables:
            t = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)
            freq = 1.0 / 10000 ** (torch.arange(0, self.dim, device=x.device) / self.dim)
            self.tables[key] = torch.outer(t, freq).cos()
        return x * self.tables[key]


class Stage(nn.Module):
    def __init__(self, dim, rope):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.rope = rope

    def forward(self, x):
        return self.rope(self.proj(x))


rope = Rope(8)
stages = [Stage(8, rope).to(f"cuda:{i}") for i in range(2)]
x = torch.randn(2, 6, 8)
for i, stage in enumerate(stages):
    x = stage(x.to(f"cuda:{i}"))
print(x.shape)
