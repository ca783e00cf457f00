# expect: DV113 | gpus: 2 | operands: x, self.level | owner: program
"""A buffer is assigned the mean of what the other network computed, on its GPU."""

import torch
from torch import nn


class Level(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("level", torch.zeros(width))

    def forward(self, x, reference):
        shifted = x - self.level
        self.follow(reference)
        return shifted.square().mean()

    def follow(self, reference):
        self.level = 0.5 * reference.mean(0)


reference = nn.Linear(6, 4).to("cuda:1")
model = nn.Linear(6, 4).to("cuda:0")
level = Level(4).to("cuda:0")
for _ in range(2):
    batch = torch.randn(3, 6)
    level(model(batch.to("cuda:0")), reference(batch.to("cuda:1"))).backward()
