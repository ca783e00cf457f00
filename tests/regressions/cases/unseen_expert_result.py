# expect: DV101 | gpus: 2 | operands: found, gate[rows, expert, None] | owner: program
"""What an expert on the other GPU gives is added where the tokens are: all else in the statement is there."""

import torch
from torch import nn


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 2)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def spread(self, homes):
        self.router.to(homes[0])
        for each, home in zip(self.experts, homes, strict=True):
            each.to(home)
        self.homes = homes
        return self

    def forward(self, tokens):
        gate = self.router(tokens).softmax(-1)
        out = torch.zeros_like(tokens)
        for expert, home in enumerate(self.homes):
            rows = torch.arange(expert, len(tokens), 2, device=tokens.device)
            found = self.experts[expert](tokens[rows].to(home))
            out.index_add_(0, rows, found * gate[rows, expert, None])
        return out


model = Experts().spread(["cuda:0", "cuda:1"])
model(torch.randn(6, 4, device="cuda:0")).sum().backward()
