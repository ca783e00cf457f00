# expect: DV113 | gpus: 2 | operands: x, cos | owner: program
"""A rotary table that the first GPU filled is used on the second."""

import torch


class Rotary:
    def __init__(self):
        self.cache = {}

    def __call__(self, x):
        size = x.shape[-1]
        if size not in self.cache:
            self.cache[size] = torch.ones(size, device=x.device)
        cos = self.cache[size]
        return x * cos


class Layer(torch.nn.Module):
    def __init__(self, rotary):
        super().__init__()
        self.rotary = rotary
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.lin(x)
        return self.rotary(x)


rotary = Rotary()
layers = [Layer(rotary).to("cuda:0"), Layer(rotary).to("cuda:1")]
layers[0](torch.zeros(2, 4, device="cuda:0"))
layers[1](torch.zeros(2, 4, device="cuda:1"))
