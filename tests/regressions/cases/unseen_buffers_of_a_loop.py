# expect: DV105 | gpus: 1 | operands: self.scale, self.fc(x) | owner: program
"""A loop over the blocks of a model that was moved puts new tensors in the place of their buffers."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.register_buffer("scale", torch.ones(8))

    def forward(self, x):
        return self.fc(x) * self.scale


model = nn.Sequential(Block(), Block()).cuda()
for block in model:
    block.scale = torch.full((8,), 0.5)
model(torch.ones(2, 8, device="cuda"))
