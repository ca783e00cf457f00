# expect: DV113 | gpus: 2 | operands: stats["scale"] | owner: program
"""A dictionary of a network's buffers outlives the move that replaces them."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("scale", torch.linspace(0.5, 1.5, width))
        self.lin = nn.Linear(width, width)

    def forward(self, x):
        return self.lin(x * self.scale)


def undo(code, stats):
    return code / stats["scale"]


def main():
    net = Encoder(8)
    net.to("cuda:0")
    stats = dict(net.named_buffers())
    print(undo(net(torch.rand(2, 8, device="cuda:0")), stats).sum())
    net.to("cuda:1")
    print(undo(net(torch.rand(2, 8, device="cuda:1")), stats).sum())


main()
