# expect: DV108 | gpus: 1 | operands: head.bias, x, head.weight | owner: program
"""Modules in a list of Python are not registered."""

import torch


class Heads(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.heads = [torch.nn.Linear(4, 4) for _ in range(2)]

    def forward(self, x):
        x = self.first(x)
        return sum(head(x) for head in self.heads)


Heads().to("cuda")(torch.randn(2, 4, device="cuda"))
