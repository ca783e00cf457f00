# expect: DV105 | gpus: 2 | operands: self.waves | owner: program
"""Copies of the parameters on another GPU are given to a module, which takes its buffer from where it is itself."""

import torch
from torch import nn
from torch.func import functional_call, grad


class Waves(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("waves", torch.randn(1, 4))
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        return self.out(torch.sin(x @ self.waves))


model = Waves().to("cuda:0")


def loss(weights, x):
    return functional_call(model, weights, (x,)).square().mean()


for device in ("cuda:0", "cuda:1"):
    weights = {name: each.to(device) for name, each in model.named_parameters()}
    grad(loss)(weights, torch.randn(5, 1).to(device))
