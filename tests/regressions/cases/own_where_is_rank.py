# expect: DV115 | gpus: 2 | operands: hidden, self.scale | owner: program
"""A module asks for "cuda" while it is constructed, and the rest of the rank says its number."""

import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.register_buffer("scale", torch.ones(width, device="cuda"))

    def forward(self, hidden):
        hidden = self.lin(hidden)
        return hidden * self.scale


rank = 1
net = Scaled(4)
net.lin.to(rank)
net(torch.randn(2, 4, device=rank))
