# expect: DV101 | gpus: 2 | operands: factor | owner: program
"""All gradients are scaled by one number, which is on the GPU of the first of them."""

import torch
from torch import nn


class Halves(nn.Module):
    def __init__(self, one, other):
        super().__init__()
        self.one, self.other = nn.Linear(5, 5).to(one), nn.Linear(5, 1).to(other)
        self.last = other

    def forward(self, x):
        return self.other(self.one(x).to(self.last))


def normalize(parameters):
    factor = 1.0 / (torch.nn.utils.get_total_norm([each.grad for each in parameters]) + 1e-6)
    for each in parameters:
        each.data.sub_(0.1 * each.grad * factor)


model = Halves("cuda:0", "cuda:1")
model(torch.randn(4, 5, device="cuda:0")).sum().backward()
normalize(list(model.parameters()))
