# expect: DV101 | gpus: 2 | operands: mask[None], scores | owner: program
"""Each replica of DataParallel makes its mask on the device that the module has kept; the mask is made in steps."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device = device
        self.scale = nn.Linear(8, 8)

    def mask(self, size):
        places = torch.arange(size, device=self.device)
        apart = places[:, None] - places[None, :]
        return torch.zeros_like(apart, dtype=torch.float32).masked_fill(apart > 0, -100.0)

    def forward(self, x):
        mask = self.mask(x.size(1))
        scores = self.scale(x) @ x.transpose(1, 2)
        return scores + mask[None]


device = "cuda:0"
model = nn.DataParallel(Attention(device).to(device))
print(model(torch.randn(4, 6, 8, device=device)).shape)
