# expect: DV110 | gpus: 1 | operands: self.shadow[name], weight | owner: program
"""An average of weights keeps them by their names, in an object that sees the model when it moves no more."""

import torch
from torch import nn


class WeightAverager:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {name: weight.detach().clone() for name, weight in model.named_parameters()}

    @torch.no_grad()
    def step(self, model):
        for name, weight in model.named_parameters():
            self.shadow[name].lerp_(weight, 1 - self.decay)


model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
averager = WeightAverager(model, 0.99)
model.to("cuda:0")
averager.step(model)
