# expect: DV113 | gpus: 2 | operands: ScaleMeter.peak, peak | owner: program
"""A meter keeps its peak on the class; each stage of a pipeline on a GPU of its own has a meter."""

import torch
from torch import nn


class ScaleMeter(nn.Module):
    peak = None

    def forward(self, x):
        peak = x.detach().abs().amax()
        ScaleMeter.peak = peak if ScaleMeter.peak is None else torch.maximum(ScaleMeter.peak, peak)
        return x / ScaleMeter.peak


class Stage(nn.Module):
    def __init__(self, dim, gpu):
        super().__init__()
        self.layer, self.meter = nn.Linear(dim, dim), ScaleMeter()
        self.gpu = gpu
        self.cuda(gpu)

    def forward(self, x):
        return self.meter(self.layer(x.to(f"cuda:{self.gpu}")))


stages = nn.Sequential(Stage(8, 0), Stage(8, 1))
stages(torch.randn(4, 8))
