# expect: DV105 | gpus: 2 | operands: mark, rows | owner: program
"""A model whose parts are sent to two GPUs one by one; a parameter of its own belongs to none of them."""

import torch
from torch import nn


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Linear(6, 8)
        self.words = nn.Linear(8, 5)
        self.separator = nn.Parameter(torch.randn(8) * 0.1)

    def spread(self, first, second):
        self.eyes.to(first)
        self.words.to(second)
        self.first, self.second = first, second
        return self

    def join(self, rows):
        mark = self.separator.expand(rows.shape[0], 1, 8)
        return torch.cat([rows, mark], dim=1)

    def forward(self, patches):
        rows = self.eyes(patches.to(self.first)).to(self.second)
        return self.words(self.join(rows))


model = Captioner().spread("cuda:0", "cuda:1")
model(torch.randn(2, 4, 6)).sum().backward()
