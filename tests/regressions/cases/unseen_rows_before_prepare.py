# expect: DV103 | gpus: 1 | operands: self.rows[self.kept], layer.weight | owner: program
"""Rows of a table are copied before accelerate moves it, and are written back after each step."""

import torch
from accelerate import Accelerator
from torch import nn


class Kept:
    def __init__(self, layer, learned):
        self.rows = layer.weight.detach().clone()
        self.kept = torch.ones(len(self.rows), dtype=torch.bool)
        self.kept[learned] = False

    @torch.no_grad()
    def restore(self, layer):
        layer.weight[self.kept] = self.rows[self.kept]


def main():
    accelerator = Accelerator()
    layer = nn.Embedding(6, 4)
    kept = Kept(layer, [5])
    layer, optimizer = accelerator.prepare(layer, torch.optim.SGD(layer.parameters(), lr=0.1))
    accelerator.backward(layer(torch.arange(6, device=accelerator.device)).sum())
    optimizer.step()
    kept.restore(layer)


main()
