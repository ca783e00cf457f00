# expect: DV110 | gpus: 1 | operands: average, parameter | owner: program
"""An average of the weights is made before the model moves."""

import torch


class EMA:
    def __init__(self, model):
        self.shadow = [parameter.detach().clone() for parameter in model.parameters()]

    def update(self, model):
        for average, parameter in zip(self.shadow, model.parameters(), strict=True):
            average.mul_(0.9).add_(parameter.detach(), alpha=0.1)


model = torch.nn.Linear(4, 4)
ema = EMA(model)
model.to("cuda:0")
ema.update(model)
