# expect: DV108 | gpus: 1 | operands: step, x | owner: program
"""What an observer keeps of the ranges is a plain attribute; the step is computed from it."""

import torch
from torch import nn


class Ranges(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.widest = torch.ones(width)

    def observe(self, x):
        self.widest.copy_(torch.maximum(self.widest, x.detach().abs().amax(0).to(self.widest)))

    def step(self, bits):
        return self.widest / (2 ** (bits - 1) - 1)


class Rounded(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin, self.ranges = nn.Linear(width, width), Ranges(width)

    def forward(self, x):
        self.ranges.observe(x)
        step = self.ranges.step(8)
        return self.lin((x / step).round() * step)


Rounded(8).to("cuda:0")(torch.randn(4, 8, device="cuda:0")).sum().backward()
