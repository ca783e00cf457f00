# expect: DV101 | gpus: 3 | operands: x, stage.weight | owner: program
"""Three stages by hand, and the hop to the last one was forgotten."""

import torch
from torch import nn


class Pipeline(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4, bias=False).to("cuda:0")
        self.second = nn.Linear(4, 4, bias=False).to("cuda:1")
        self.third = nn.Linear(4, 4, bias=False).to("cuda:2")

    def forward(self, x):
        x = self.first(x.to("cuda:0"))
        x = self.second(x.to("cuda:1"))
        for stage in [self.third]:
            x = stage(x)
        return x


Pipeline()(torch.randn(2, 4))
