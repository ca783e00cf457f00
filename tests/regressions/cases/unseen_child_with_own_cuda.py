# expect: DV108 | gpus: 1 | operands: grid, x | owner: program
"""A child moves its grid in a `cuda` of its own, which the move of its parent does not call."""

import torch
from torch import nn


def sample(grid, x):
    return x + grid


class Warp(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.coordinates = torch.linspace(-1, 1, size)

    def cuda(self, device=None):
        self.coordinates = self.coordinates.cuda(device)
        return super().cuda(device)

    def forward(self, x):
        return self.scale * sample(self.coordinates, x)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 6)
        self.warp = Warp(6)

    def forward(self, x):
        return self.warp(self.encoder(x))


network = Network().cuda()
network(torch.randn(2, 6, device="cuda"))
