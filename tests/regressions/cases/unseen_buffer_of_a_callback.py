# expect: DV113 | gpus: 2 | operands: self.prototypes, self.encoder(x) | owner: program
"""A callback puts its own averages in the place of a buffer; the model is off its GPU when the failure is explained."""

import torch
from torch import nn


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 3)
        self.register_buffer("prototypes", torch.zeros(6, 3))

    def validate(self, x):
        return self.encoder(x) @ self.prototypes.t()


class Bank:
    def __init__(self, device):
        self.sums = torch.ones(6, 3, device=device)

    def on_epoch_end(self, trainer, module):
        module.prototypes = nn.functional.normalize(self.sums, dim=1)


def fit(model, callback):
    model.to("cuda:0")
    try:
        for _ in range(2):
            model.validate(torch.randn(2, 4, device="cuda:0"))
            callback.on_epoch_end(None, model)
    finally:
        model.cpu()


fit(Learner(), Bank("cuda:1"))
