# expect: DV109 | gpus: 2 | operands: self.a[name], x | owner: program
"""A bank makes all adapters on the device of the model's first parameter; the later blocks are on another GPU."""

import torch
from torch import nn
from torch.nn import functional


class LoraLinear(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base, self.a, self.b, self.active = base, nn.ParameterDict(), nn.ParameterDict(), None

    def add(self, name, rank, **factory):
        self.a[name] = nn.Parameter(torch.randn(rank, self.base.in_features, **factory))
        self.b[name] = nn.Parameter(torch.zeros(self.base.out_features, rank, **factory))
        self.active = name

    def forward(self, x):
        y, name = self.base(x), self.active
        return y + functional.linear(functional.linear(x, self.a[name]), self.b[name])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(LoraLinear(nn.Linear(8, 8)) for _ in range(4))
        self.places = ["cuda:0", "cuda:0", "cuda:1", "cuda:1"]
        for block, place in zip(self.blocks, self.places, strict=True):
            block.to(place)

    def forward(self, x):
        for block, place in zip(self.blocks, self.places, strict=True):
            x = block(x.to(place)).relu()
        return x


model = Net()
device = next(model.parameters()).device
for block in model.blocks:
    block.add("style", 2, device=device)
print(model(torch.randn(3, 8)).sum().item())
