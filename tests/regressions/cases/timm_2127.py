# expect: DV110 | gpus: 1 | operands: 0.9 * ema_v, 0.1 * model_v | owner: program
"""timm's average of the weights, on the host on purpose or not."""

import copy

import torch


class ModelEma:
    def __init__(self, model):
        self.module = copy.deepcopy(model)

    def update(self, model):
        for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values(), strict=True):
            ema_v.copy_(0.9 * ema_v + 0.1 * model_v)


model = torch.nn.Linear(4, 4)
ema = ModelEma(model)
model.cuda()
ema.update(model)
