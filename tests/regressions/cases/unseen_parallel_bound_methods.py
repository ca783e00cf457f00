# expect: DV108 | gpus: 2 | operands: x, emb.weight | owner: program
"""A list of bound methods leads DataParallel's replicas to the module that was copied."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Linear(4, 4)
        self.out = nn.Linear(4, 2)
        self.stages = [self.first, self.second]

    def first(self, x):
        return self.emb(x).relu()

    def second(self, x):
        return self.out(x)

    def forward(self, x):
        for s in self.stages:
            x = s(x)
        return x


net = nn.DataParallel(Net().to("cuda:0"), device_ids=[0, 1])
print(net(torch.randn(6, 4)).shape)
