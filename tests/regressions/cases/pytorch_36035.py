# expect: DV108 | gpus: 2 | operands: x, self.scales[0] | owner: program
"""Parameters in a list of Python."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.scales = [torch.nn.Parameter(torch.ones(4)) for _ in range(2)]

    def forward(self, x):
        x = self.first(x)
        return x * self.scales[0]


Model().to("cuda:1")(torch.randn(2, 4, device="cuda:1"))
