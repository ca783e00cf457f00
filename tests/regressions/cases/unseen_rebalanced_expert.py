# expect: DV101 | gpus: 2 | operands: x, self.up.weight | owner: program
"""An expert moves to the other GPU; the table that says where to send its tokens stays as it was."""

import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 4)

    def forward(self, x):
        return self.up(x)


class Experts(nn.Module):
    def __init__(self, devices):
        super().__init__()
        self.all = nn.ModuleList(Expert() for _ in devices)
        self.home = list(devices)
        for expert, device in zip(self.all, self.home, strict=True):
            expert.to(device)

    def rebalance(self, number, device):
        self.all[number].to(device)

    def forward(self, x):
        return sum(expert(x.to(device)).to(x.device) for expert, device in zip(self.all, self.home, strict=True))


experts = Experts([torch.device("cuda:0"), torch.device("cuda:1")])
tokens = torch.randn(3, 4, device="cuda:0")
experts(tokens)
experts.rebalance(0, "cuda:1")
experts(tokens)
