# expect: DV101 | gpus: 2 | operands: skip, x | owner: program
"""A U-Net over two GPUs moves what it passes down to the second stage, and not what it kept for the way up."""

import torch
from torch import nn


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = "cuda:0", "cuda:1"
        self.down = nn.Conv1d(2, 4, 3, padding=1).to(self.first)
        self.up = nn.Conv1d(8, 2, 3, padding=1).to(self.second)

    def forward(self, x):
        x = x.to(self.first)
        skip = self.down(x)
        x = torch.relu(skip)
        x = x.to(self.second)
        return self.up(torch.cat([skip, x], dim=1))


print(UNet()(torch.randn(2, 2, 8)).shape)
