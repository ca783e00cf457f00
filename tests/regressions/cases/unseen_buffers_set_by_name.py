# expect: DV113 | gpus: 2 | operands: 1.running_mean | owner: program
"""An average of a model takes over the buffers of the model that trains, with their GPU."""

import copy

import torch
from torch import nn


class Average:
    def __init__(self, model, device):
        self.module = copy.deepcopy(model).eval().to(device)

    @torch.no_grad()
    def update(self, model):
        for mine, other in zip(self.module.parameters(), model.parameters(), strict=True):
            mine.lerp_(other.detach().to(mine.device), 0.1)
        for mine, other in zip(self.module.modules(), model.modules(), strict=True):
            for name, buffer in other.named_buffers(recurse=False):
                setattr(mine, name, buffer.detach().clone())


model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
average = Average(model, "cuda:1")
model.to("cuda:0")
model(torch.randn(3, 4, device="cuda:0")).sum().backward()
average.update(model)
print(average.module(torch.randn(2, 4, device="cuda:1")).sum())
