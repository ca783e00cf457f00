# expect: DV108 | gpus: 1 | operands: self.lin(x), self.table.values | owner: program
"""An embedding table as a plain attribute of a helper object."""

import torch


class Table:
    def __init__(self):
        self.values = torch.zeros(5, 4)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = Table()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x) + self.table.values[0]


Model().cuda()(torch.randn(4, device="cuda"))
