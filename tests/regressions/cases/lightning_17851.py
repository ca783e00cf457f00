# expect: DV108 | gpus: 1 | operands: logits, self.weights | owner: program
"""Class weights of a loss as a plain attribute."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 3)
        self.weights = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x):
        logits = self.lin(x)
        return logits * self.weights


Model().to("cuda:0")(torch.randn(2, 4, device="cuda:0"))
