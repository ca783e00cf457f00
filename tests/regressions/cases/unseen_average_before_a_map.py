# expect: DV110 | gpus: 2 | operands: mean | owner: program
"""The averaged weights are copied on the first GPU; then a map sends half of the network to the second."""

import torch
from accelerate import dispatch_model
from torch import nn


class Polyak:
    def __init__(self, net, rate=0.9):
        self.rate = rate
        self.means = [weight.detach().clone() for weight in net.parameters()]

    @torch.no_grad()
    def step(self, net):
        for mean, weight in zip(self.means, net.parameters(), strict=True):
            mean.mul_(self.rate).add_(weight, alpha=1 - self.rate)


def main():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to("cuda:0")
    polyak = Polyak(net)
    net = dispatch_model(net, {"0": 0, "1": 0, "2": 1})
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net(torch.rand(4, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        polyak.step(net)


main()
