# expect: DV103 | gpus: 1 | operands: scores, targets, self.weights | owner: program
"""A callback gives the trainer class weights at the end of an epoch; it makes them of Python's numbers, on the CPU."""

import torch
import torch.nn.functional as F
from torch import nn


class Trainer:
    def __init__(self, model, callback):
        self.model, self.weights, self.callback = model, None, callback

    def loss(self, rows, targets):
        scores = self.model(rows)
        return F.cross_entropy(scores, targets, weight=self.weights)

    def fit(self, epochs):
        for _ in range(epochs):
            rows, targets = torch.randn(6, 4, device="cuda"), torch.randint(0, 3, (6,), device="cuda")
            self.loss(rows, targets).backward()
            self.callback.after_epoch(self)


class Balance:
    def after_epoch(self, trainer):
        shares = torch.tensor([0.5, 0.3, 0.2])
        trainer.weights = (1 / shares).clamp(max=4)


Trainer(nn.Linear(4, 3).cuda(), Balance()).fit(2)
