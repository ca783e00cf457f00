# expect: DV101 | gpus: 2 | operands: bias, x + self.mix(x) | owner: program
"""Blocks on two GPUs are given one small weight that the model keeps on the first."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, x, bias):
        return x + self.mix(x) + bias


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width).to(device) for device in ("cuda:0", "cuda:1"))
        self.bias = nn.Parameter(torch.zeros(width, device="cuda:0"))

    def forward(self, x):
        for block, device in zip(self.blocks, ("cuda:0", "cuda:1"), strict=True):
            x = block(x.to(device), self.bias)
        return x


def main():
    Net(4)(torch.ones(2, 4))


main()
