# expect: DV108 | gpus: 2 | operands: scores, self.bias | owner: program
"""A plain attribute is given a tensor of one GPU when the model has been placed on two."""

import torch
from accelerate import dispatch_model
from torch import nn


class Biased(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 3)
        self.bias = torch.zeros(3)

    def set_bias(self, counts):
        self.bias = counts.log1p()

    def forward(self, x):
        scores = self.second(self.first(x))
        return scores + self.bias


def main():
    model = dispatch_model(Biased(), {"first": 0, "second": 1})
    model.set_bias(torch.tensor([1.0, 2.0, 0.0]).to("cuda:0"))
    model(torch.randn(2, 4, device="cuda:0"))


main()
