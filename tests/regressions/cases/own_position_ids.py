# expect: DV102 | gpus: 1 | operands: self.pos.weight, torch.arange(ids.shape[1]) | owner: program
"""Positions are counted without a device."""

import torch
from torch import nn


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(8, 4)
        self.pos = nn.Embedding(16, 4)

    def forward(self, ids):
        return self.tok(ids) + self.pos(torch.arange(ids.shape[1]))


GPT().to(device="cuda:0")(torch.tensor([[1, 2, 3]], device="cuda:0"))
