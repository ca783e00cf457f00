# expect: DV430 | gpus: 2 | operands: self.head.weight, self.body(hidden) | owner: program
"""The stages are placed first, then the head of the last is given the embedding's weight."""

import torch
from torch import nn


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 11, bias=False)

    def forward(self, hidden):
        return self.head(self.body(hidden))


class Stages(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.last = Last()
        self.embed.to("cuda:0")
        self.last.to("cuda:1")
        self.last.head.weight = self.embed.weight

    def forward(self, ids):
        return self.last(self.embed(ids).to("cuda:1"))


Stages()(torch.randint(0, 11, (2, 5), device="cuda:0"))
