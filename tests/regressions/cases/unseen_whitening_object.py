# expect: DV108 | gpus: 1 | operands: x, self.mean | owner: program
"""A plain object averages features; the module that keeps it moves without it. It belongs to no parameter."""

import torch
from torch import nn


class MovingAverageWhitening:
    def __init__(self, dim, momentum=0.1):
        self.momentum = momentum
        self.mean = torch.zeros(dim)
        self.variance = torch.ones(dim)

    def __call__(self, x):
        centered = x - self.mean
        self.variance.lerp_(centered.square().mean(0), self.momentum)
        return centered / self.variance.sqrt()


class Encoder(nn.Module):
    def __init__(self, whitening):
        super().__init__()
        self.layer = nn.Linear(8, 4)
        self.whitening = whitening

    def forward(self, x):
        return self.layer(self.whitening(x))


encoder = Encoder(MovingAverageWhitening(8)).to("cuda:0")
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
encoder(torch.randn(3, 8, device="cuda:0")).sum().backward()
