# expect: DV110 | gpus: 2 | operands: momentum_buffer | owner: torch.load
"""The momenta of many layers are loaded before the network goes to the second GPU; they are added in one call."""

import io

import torch
from torch import nn


def network():
    return nn.Sequential(*(nn.Linear(4, 4) for _ in range(12)))


def step(net, optimizer, device):
    net(torch.rand(2, 4, device=device)).sum().backward()
    optimizer.step()


def main():
    first = network()
    before = torch.optim.SGD(first.parameters(), lr=0.1, momentum=0.9)
    step(first, before, "cpu")
    kept = io.BytesIO()
    torch.save(before.state_dict(), kept)
    kept.seek(0)
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=True)
    optimizer.load_state_dict(torch.load(kept, map_location="cpu"))
    net.to("cuda:1")
    step(net, optimizer, "cuda:1")


main()
