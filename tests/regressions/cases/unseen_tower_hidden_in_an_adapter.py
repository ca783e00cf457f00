# expect: DV108 | gpus: 2 | operands: self.patches.weight | owner: program
"""A frozen tower is kept out of the checkpoints in a plain dictionary, so that no move of the adapter moves it."""

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Linear(8, 4)

    def forward(self, pixels):
        return torch.nn.functional.linear(pixels, self.patches.weight)


class VisionAdapter(nn.Module):
    def __init__(self, tower):
        super().__init__()
        self._frozen = {"tower": tower.eval()}
        self.project = nn.Linear(4, 6)

    def forward(self, pixels):
        with torch.no_grad():
            features = self._frozen["tower"](pixels)
        return self.project(features)


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter, self.head = VisionAdapter(Tower()), nn.Linear(6, 2)

    def forward(self, pixels):
        return self.head(self.adapter(pixels.to("cuda:1")).to("cuda:0"))


model = Captioner()
model.adapter.to("cuda:1")
model.head.to("cuda:0")
print(model(torch.randn(3, 8)).sum().item())
