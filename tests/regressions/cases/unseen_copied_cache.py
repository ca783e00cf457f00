# expect: DV113 | gpus: 2 | operands: table | owner: program
"""A network with a cache of position tables is copied for the second GPU."""

import copy

import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width, self.tables = width, {}

    def forward(self, x):
        key = (x.shape[1], self.width)
        if key not in self.tables:
            rows = torch.arange(x.shape[1], device=x.device)
            angle = rows[:, None] / torch.arange(1, self.width + 1, device=x.device)
            self.tables[key] = angle.sin()
        table = self.tables[key]
        return x + table


def main():
    net = nn.Sequential(nn.Linear(4, 8), Positions(8), nn.Linear(8, 2)).to("cuda:0")
    net(torch.rand(2, 5, 4, device="cuda:0"))
    frozen = copy.deepcopy(net).to("cuda:1")
    print(frozen(torch.rand(2, 5, 4, device="cuda:1")).shape)


main()
