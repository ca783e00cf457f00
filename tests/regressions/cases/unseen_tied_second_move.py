# expect: DV430 | gpus: 2 | operands: self.embed.weight, ids | owner: program
"""A language model split by hand: the head is moved after the embedding, whose weight it shares."""

import torch
from torch import nn


class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embed.weight

    def split(self, first, last):
        self.first, self.last = first, last
        self.embed.to(first)
        self.body.to(first)
        self.head.to(last)
        return self

    def forward(self, ids):
        hidden = self.body(self.embed(ids))
        return self.head(hidden.to(self.last))


model = Speller().split("cuda:0", "cuda:1")
ids = torch.randint(0, 11, (2, 5), device="cuda:0")
model(ids)
