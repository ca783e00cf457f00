# expect: DV113 | gpus: 2 | operands: x, cos | owner: program
"""Rotary tables are kept for each length in an object of a class that is called a cache; both stages ask it."""

import torch
from torch import nn


class RotaryCache:
    def __init__(self, width):
        self.width, self.tables = width, {}

    def get(self, length, device):
        if length not in self.tables:
            rates = 1.0 / 10000 ** (torch.arange(0, self.width, 2, device=device) / self.width)
            angles = torch.outer(torch.arange(length, device=device).float(), rates).repeat(1, 2)
            self.tables[length] = (angles.cos(), angles.sin())
        return self.tables[length]


rotary = RotaryCache(8)


def rotate(x, cos, sin):
    one, other = x.chunk(2, -1)
    return x * cos + torch.cat((-other, one), -1) * sin


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        cos, sin = rotary.get(x.shape[1], x.device)
        return x + rotate(self.mix(x), cos, sin)


class Stages(nn.Module):
    def __init__(self, width, devices):
        super().__init__()
        self.devices = devices
        self.blocks = nn.ModuleList(Block(width).to(device) for device in devices)

    def forward(self, x):
        for block, device in zip(self.blocks, self.devices, strict=True):
            x = block(x.to(device))
        return x


model = Stages(8, ["cuda:0", "cuda:1"])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.randn(4, 6, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
