# expect: DV108 | gpus: 1 | operands: x, self.spirals["level0"] | owner: program
"""A dictionary of tensors that the module was given."""

import torch


class Spiral(torch.nn.Module):
    def __init__(self, spirals):
        super().__init__()
        self.spirals = {"level0": spirals}
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.lin(x)
        return x + self.spirals["level0"]


Spiral(torch.zeros(4)).to("cuda")(torch.randn(2, 4, device="cuda"))
