# expect: DV109 | gpus: 1 | operands: x, self.down | owner: program
"""An adapter is put beside a layer after the model went to the GPU."""

import torch
from torch import nn


class Adapter(nn.Module):
    def __init__(self, layer, rank):
        super().__init__()
        self.layer = layer
        self.down = nn.Parameter(torch.randn(layer.in_features, rank))
        self.up = nn.Parameter(torch.zeros(rank, layer.out_features))

    def forward(self, x):
        return self.layer(x) + torch.einsum("bi,ir->br", x, self.down) @ self.up


model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).cuda()
model[2] = Adapter(model[2], rank=2)
model(torch.randn(3, 4, device="cuda"))
