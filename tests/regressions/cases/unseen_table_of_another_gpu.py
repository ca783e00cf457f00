# expect: DV101 | gpus: 2 | operands: shift | owner: program
"""A renderer on the second GPU is built with the statistics of the first."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Statistics:
    shift: torch.Tensor
    spread: torch.Tensor

    @classmethod
    def of(cls, rows):
        return cls(rows.mean(0), rows.std(0))

    def undo(self, rows):
        return restored(rows, self.shift, self.spread)


def restored(rows, shift, spread):
    return rows * spread + shift if rows.device == spread.device else rows - shift


class Renderer:
    def __init__(self, decoder, stats, device):
        self.decoder, self.stats, self.device = decoder, stats, torch.device(device)

    def draw(self, count):
        code = torch.randn(count, 4, device=self.device)
        return self.stats.undo(self.decoder(code))


def main():
    rows = torch.rand(16, 6, device="cuda:0")
    stats = Statistics.of(rows)
    decoder = nn.Linear(4, 6).to("cuda:1")
    print(Renderer(decoder, stats, "cuda:1").draw(2).shape)


main()
