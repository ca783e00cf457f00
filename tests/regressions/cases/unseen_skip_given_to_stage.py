# expect: DV101 | gpus: 2 | operands: skip, x | owner: program
"""The skip connection is given to a module of the second stage, in whose own forward it meets what was moved there."""

import torch
from torch import nn


class Up(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(8, 2, 3, padding=1)

    def forward(self, x, skip):
        x = torch.cat([skip, x], dim=1)
        return self.conv(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.middle = nn.Conv1d(2, 4, 3, padding=1).to("cuda:0"), nn.Conv1d(4, 4, 1).to("cuda:1")
        self.up = Up().to("cuda:1")

    def forward(self, x):
        skip = self.down(x.to("cuda:0"))
        x = self.middle(torch.relu(skip).to("cuda:1"))
        return self.up(x, skip)


print(UNet()(torch.randn(2, 2, 8)).shape)
