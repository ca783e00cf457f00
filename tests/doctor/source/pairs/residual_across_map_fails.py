# expect: DV107 | gpus: 2
"""A block with a residual; the map puts the two halves of it apart."""

import torch
from accelerate import dispatch_model
from torch import nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.attn = nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.attn(self.norm(x))
        return x + self.mlp(x)


class Net(nn.Module):
    def __init__(self, d=8, depth=2):
        super().__init__()
        self.embed = nn.Embedding(20, d)
        self.blocks = nn.ModuleList([Block(d) for _ in range(depth)])
        self.head = nn.Linear(d, 20)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


model = dispatch_model(
    Net(), device_map={"embed": 0, "blocks.0": 0, "blocks.1.norm": 0, "blocks.1.attn": 0, "blocks.1.mlp": 1, "head": 1}
)
print(model(torch.randint(0, 20, (2, 5))).shape)
