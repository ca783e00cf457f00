# expect: DV105 | gpus: 2 | operands: self.prior | owner: -
"""A trainer keeps a loss with a table of its own, which nothing moves; the model is on two GPUs."""

import torch
from torch import nn


class AdjustedLoss(nn.Module):
    def __init__(self, counts):
        super().__init__()
        share = torch.tensor(counts, dtype=torch.float) / sum(counts)
        self.register_buffer("prior", share.log())

    def forward(self, logits, labels):
        wanted = logits.log_softmax(-1).gather(1, labels[:, None])
        return (self.prior[labels] - wanted.squeeze(1)).mean()


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.high = nn.Linear(6, 8).to("cuda:0"), nn.Linear(8, 3).to("cuda:1")

    def forward(self, x):
        return self.high(self.low(x).to("cuda:1"))


class Trainer:
    def __init__(self, model, counts):
        self.model, self.criterion = model, AdjustedLoss(counts)

    def step(self, x, labels):
        logits = self.model(x.to("cuda:0"))
        return self.criterion(logits, labels.to(logits.device))


trainer = Trainer(Tower(), [3, 2, 1])
trainer.step(torch.randn(4, 6), torch.tensor([0, 1, 2, 0])).backward()
