# expect: DV108 | gpus: 2 | operands: self.count | owner: program
"""A copy of a network goes to another GPU, without the statistics that it keeps as plain tensors."""

import copy

import torch
from torch import nn


class Counted(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.count = torch.zeros(3, device=device)
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        self.count = self.count + x.sum(0)
        return self.layer(x / self.count.clamp(min=1))


online = Counted("cuda:0").to("cuda:0")
online(torch.rand(4, 3, device="cuda:0"))
target = copy.deepcopy(online).to("cuda:1")
target(torch.rand(4, 3, device="cuda:1"))
