# expect: DV201 | gpus: 2 | operands: self.a(x), self.norm.weight, self.norm.bias | owner: accelerate
"""The parameters of a dispatched model are 'gathered' by hand for an export."""

import torch
from accelerate import dispatch_model
from torch import nn


class Tower(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(dim, dim), nn.LayerNorm(dim), nn.Linear(dim, 2)

    def forward(self, x):
        return self.b(self.norm(self.a(x)))


def gather(model, device):
    for p in model.parameters():
        p.data = p.data.to(device)
    for b in model.buffers():
        b.data = b.data.to(device)
    return model


model = dispatch_model(Tower(), {"a": 0, "norm": 1, "b": 1})
print(model(torch.rand(2, 8)).shape)
gather(model, "cuda:0")
print(model(torch.rand(2, 8)).shape)
