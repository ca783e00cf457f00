# expect: DV108 | gpus: 2 | operands: bias, t | owner: program
"""DataParallel's replicas share a lambda that captured a tensor of the first GPU."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        bias = torch.randn(4, device="cuda:0")
        self.shift = lambda t: t + bias

    def forward(self, x):
        return self.shift(self.l(x))


net = nn.DataParallel(Net().cuda())
print(net(torch.randn(8, 4).cuda()).shape)
