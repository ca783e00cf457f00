# expect: DV202 | gpus: 2 | operands: net.centers | owner: program
"""A buffer that another network computed is registered after the module was moved, and before it is wrapped."""

import torch
from torch import nn


class Run:
    def __init__(self):
        self.guide = nn.Linear(4, 3).to("cuda:1")
        self.net = nn.Linear(4, 3).to("cuda:0")
        with torch.no_grad():
            centers = self.guide(torch.randn(5, 4, device="cuda:1"))
        self.net.register_buffer("centers", centers)
        self.wrapped = nn.DataParallel(self.net)

    def step(self, x):
        return self.wrapped(x.to("cuda:0")).sum()


def main():
    Run().step(torch.randn(8, 4))


main()
