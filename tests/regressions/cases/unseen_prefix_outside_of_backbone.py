# expect: DV105 | gpus: 1 | operands: prefix, tokens | owner: program
"""Only the backbone of a wrapper is moved; the wrapper's own prefix stays on the host."""

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(20, dim)
        self.block = nn.Linear(dim, dim)

    def forward(self, states):
        return self.block(states)


class Prefixed(nn.Module):
    def __init__(self, backbone, dim):
        super().__init__()
        self.backbone = backbone
        self.prefix = nn.Sequential(nn.Embedding(3, dim), nn.Tanh())

    def forward(self, ids):
        tokens = self.backbone.embed(ids)
        prefix = self.prefix(torch.arange(3)).expand(len(ids), -1, -1)
        return self.backbone(torch.cat([prefix, tokens], dim=1))


model = Prefixed(Backbone(8), 8)
model.backbone.to("cuda:0")
model(torch.randint(0, 20, (2, 5), device="cuda:0"))
