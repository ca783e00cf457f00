# expect: DV108 | gpus: 1 | operands: x, self.pe | owner: program
"""A sinusoidal table is a plain attribute."""

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=16):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * torch.ones(d_model // 2))
        self.pe = pe
        self.drop = nn.Linear(d_model, d_model)

    def forward(self, x):
        x = self.drop(x)
        return x + self.pe[:, : x.size(1)]


PositionalEncoding(4).to("cuda:0")(torch.randn(1, 3, 4, device="cuda:0"))
