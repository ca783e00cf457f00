# expect: DV113 | gpus: 2 | operands: pe, x | owner: program
"""A sinusoidal table that the class remembers, used by an encoder and a decoder on two GPUs."""

import math

import torch
from torch import nn


class SinusoidalPE(nn.Module):
    _table = None

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    @classmethod
    def table(cls, length, dim, device):
        if cls._table is None or cls._table.shape[0] < length:
            position = torch.arange(length, device=device).unsqueeze(1)
            div = torch.exp(torch.arange(0, dim, 2, device=device) * (-math.log(10000.0) / dim))
            table = torch.zeros(length, dim, device=device)
            table[:, 0::2], table[:, 1::2] = torch.sin(position * div), torch.cos(position * div)
            cls._table = table
        return cls._table[:length]

    def forward(self, x):
        pe = self.table(x.shape[1], self.dim, x.device)
        return x + pe


class Translator(nn.Module):
    def __init__(self, vocab=30, dim=8):
        super().__init__()
        self.src = nn.Sequential(nn.Embedding(vocab, dim), SinusoidalPE(dim)).to("cuda:0")
        self.tgt = nn.Sequential(nn.Embedding(vocab, dim), SinusoidalPE(dim)).to("cuda:1")
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 16, batch_first=True).to("cuda:0")
        self.decoder = nn.TransformerDecoderLayer(dim, 2, 16, batch_first=True).to("cuda:1")

    def forward(self, src, tgt):
        memory = self.encoder(self.src(src.to("cuda:0")))
        return self.decoder(self.tgt(tgt.to("cuda:1")), memory.to("cuda:1"))


print(Translator()(torch.randint(0, 30, (2, 6)), torch.randint(0, 30, (2, 5))).shape)
