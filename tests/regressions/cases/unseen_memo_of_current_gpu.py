# expect: DV113 | gpus: 2 | operands: h, window_of(h.shape[1]) | owner: program
"""A window is remembered by its length, on the GPU that was current when it was asked for first."""

from functools import lru_cache

import torch
from torch import nn


@lru_cache
def window_of(length):
    return torch.hann_window(length).cuda()


class Filter(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, signal):
        h = self.mix(signal)
        return h * window_of(h.shape[1])


for card in range(2):
    torch.cuda.set_device(card)
    model = Filter(12).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = model(torch.randn(5, 12).cuda()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
