# expect: DV103 | gpus: 1 | operands: x | owner: -
"""Averaged weights, kept on the host, stand in for the live ones during an evaluation."""

import contextlib

import torch
from torch import nn


class Average:
    def __init__(self, module):
        self.shadow = {name: p.detach().cpu().clone() for name, p in module.named_parameters()}

    @contextlib.contextmanager
    def applied(self, module):
        live = {name: p.data for name, p in module.named_parameters()}
        for name, p in module.named_parameters():
            p.data = self.shadow[name]
        yield
        for name, p in module.named_parameters():
            p.data = live[name]


net = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).to("cuda:0")
x = torch.randn(2, 4, device="cuda:0")
average = Average(net)
net(x)
with average.applied(net):
    net(x)
