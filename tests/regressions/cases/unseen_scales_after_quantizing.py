# expect: DV108 | gpus: 2 | operands: self.scale | owner: program
"""Weights are quantized on the first GPU, and the layer moves on without the scale, a plain attribute."""

import torch
from torch import nn


class Small(nn.Module):
    def __init__(self, layer):
        super().__init__()
        weight = layer.weight.detach()
        self.scale = weight.abs().amax(1, keepdim=True) / 127
        self.register_buffer("codes", (weight / self.scale).round().to(torch.int8))

    def forward(self, x):
        return x @ (self.codes.float() * self.scale).T


model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).to("cuda:0")
for number in range(2):
    model[number] = Small(model[number])
model[1].to("cuda:1")
model[1](model[0](torch.randn(2, 4, device="cuda:0")).to("cuda:1"))
