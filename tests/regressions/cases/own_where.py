# expect: DV102 | gpus: 1 | operands: x, torch.full(x.shape, -1.0) | owner: program
"""The other branch of where() is made without a device, in a list of layers."""

import torch


class Leaky(torch.nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x, torch.full(x.shape, -1.0))


net = torch.nn.Sequential(torch.nn.Linear(4, 4), Leaky()).cuda()
net(torch.ones(2, 4).cuda())
