# expect: DV113 | gpus: 2 | operands: self.importance[name], drift | owner: program
"""How much each weight matters is computed on a copy of the network that has another GPU, and kept there."""

import copy

import torch
from torch import nn


class Penalty:
    def __init__(self, net):
        self.importance = {}
        self.before = {name: p.detach().clone() for name, p in net.named_parameters()}

    def measure(self, net, x):
        spare = copy.deepcopy(net).to("cuda:1")
        sums = {name: torch.zeros_like(p) for name, p in spare.named_parameters()}
        spare(x.to("cuda:1")).square().sum().backward()
        for name, p in spare.named_parameters():
            sums[name] += p.grad.square()
        self.importance = {name: each / len(x) for name, each in sums.items()}

    def __call__(self, net):
        total = 0.0
        for name, p in net.named_parameters():
            drift = (p - self.before[name]).square()
            total = total + (self.importance[name] * drift).sum()
        return total


def main():
    net = nn.Linear(3, 2).to("cuda:0")
    penalty = Penalty(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(4, 3, device="cuda:0")
    penalty.measure(net, x)
    loss = net(x).sum() + penalty(net)
    loss.backward()
    optimizer.step()


main()
