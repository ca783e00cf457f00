# expect: DV113 | gpus: 2 | operands: self.mean, x | owner: program
"""The statistics of a series are assigned to the buffers of every member's scaler, from the GPU that has the series."""

import torch
from torch import nn


class Scaler(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("std", torch.ones(width))

    @torch.no_grad()
    def fit(self, history):
        self.mean, self.std = history.mean(0), history.std(0) + 1e-5

    def forward(self, x):
        return (x - self.mean) / self.std


class Member(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.scaler, self.head = Scaler(4), nn.Linear(4, 1)
        self.device = torch.device(device)
        self.to(self.device)

    def forward(self, x):
        return self.head(self.scaler(x.to(self.device)))


torch.manual_seed(0)
series = torch.randn(64, 4, device="cuda:0")
members = [Member("cuda:0"), Member("cuda:1")]
for member in members:
    member.scaler.fit(series)
for step in range(2):
    batch = series[step * 8 : step * 8 + 8]
    for member in members:
        member(batch).square().mean().backward()
