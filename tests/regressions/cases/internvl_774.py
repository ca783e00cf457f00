# expect: DV105 | gpus: 1 | operands: x, self.scale | owner: program
"""A loader moves the modules that it knows of, one by one, and a new one is not among them."""

import torch


class Adapter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.scale


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vision = torch.nn.Linear(4, 4)
        self.adapter = Adapter()
        self.language = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.language(self.adapter(self.vision(x)))


model = Model()
model.vision.to("cuda:0")
model.language.to("cuda:0")
model(torch.randn(2, 4, device="cuda:0"))
