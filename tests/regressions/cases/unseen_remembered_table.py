# expect: DV113 | gpus: 2 | operands: order, x | owner: program
"""A table is computed once for each length and found by its length alone."""

import torch
from torch import nn

_ORDERS = {}


def orders(of):
    if len(of) not in _ORDERS:
        order = torch.argsort(of)
        _ORDERS[len(of)] = (order, torch.argsort(order))
    return _ORDERS[len(of)]


class Sorted(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weigh = nn.Linear(width, width)

    def forward(self, x, keys):
        order, back = orders(keys)
        return self.weigh(x[order])[back]


def main():
    layers = [Sorted(3).to("cuda:0"), Sorted(3).to("cuda:1")]
    x, keys = torch.randn(6, 3).to("cuda:0"), torch.rand(6).to("cuda:0")
    for layer, device in zip(layers, ["cuda:0", "cuda:1"], strict=True):
        x = layer(x.to(device), keys.to(device))


main()
