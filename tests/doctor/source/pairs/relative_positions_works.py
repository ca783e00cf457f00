# expect: clean | gpus: 2
"""A bias by relative position, which a helper makes in each forward."""

import torch
from torch import nn


def relative(n, device=None):
    pos = torch.arange(n, device=device)
    return (pos[None, :] - pos[:, None]).clamp(-4, 4) + 4


class Attention(nn.Module):
    def __init__(self, d, heads=2):
        super().__init__()
        self.qk = nn.Linear(d, 2 * d)
        self.bias = nn.Embedding(9, heads)
        self.scale = d**-0.5

    def forward(self, x):
        q, k = self.qk(x).chunk(2, -1)
        scores = q @ k.transpose(-2, -1) * self.scale
        rel = relative(x.shape[1], x.device)
        return scores + self.bias(rel).mean(-1)


model = Attention(8).to("cuda:0")
print(model(torch.randn(2, 5, 8).to("cuda:0")).shape)
