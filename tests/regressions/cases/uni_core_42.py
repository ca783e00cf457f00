# expect: DV110 | gpus: 1 | operands: self.param, new_param | owner: program
"""Uni-Core 42: the parameters of the average are made before the model moves."""

import torch


class ExponentialMovingAverageModel:
    def __init__(self, args, model, decay):
        self.decay = decay
        self.param = self.flatten(model)

    @staticmethod
    def flatten(model):
        return torch.cat([p.detach().float().view(-1) for p in model.parameters()])

    def update(self, model):
        with torch.no_grad():
            new_param = self.flatten(model)
            diff = self.param - new_param
            self.param -= diff * (1 - self.decay)


class Trainer:
    def __init__(self, model):
        self.ema = ExponentialMovingAverageModel(None, model, 0.9)
        self.model = model.cuda()

    def train_step(self):
        self.ema.update(self.model)


Trainer(torch.nn.Linear(4, 4)).train_step()
