# expect: DV108 | gpus: 2
"""Contrastive learning: the queue of negatives is a list of a helper module."""

import torch
from torch import nn


class Queue(nn.Module):
    def __init__(self, dim, size):
        super().__init__()
        bank = nn.functional.normalize(torch.randn(dim, size), dim=0)
        self.bank = bank

    def forward(self, q):
        return q @ self.bank


class MoCo(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.encoder = nn.Linear(16, dim)
        self.queue = Queue(dim, 32)

    def forward(self, x):
        q = nn.functional.normalize(self.encoder(x), dim=1)
        return self.queue(q)


model = MoCo().cuda()
print(model(torch.randn(4, 16).cuda()).shape)
