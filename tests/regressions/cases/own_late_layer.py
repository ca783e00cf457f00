# expect: DV105 | gpus: 1 | operands: self.head.weight, features | owner: program
"""A head is replaced for fine-tuning after the model went to the GPU."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.head = nn.Linear(4, 1000, bias=False)

    def forward(self, x):
        features = self.body(x)
        return self.head(features)


model = Classifier().cuda()
model.head = nn.Linear(4, 3, bias=False)
model(torch.randn(2, 4).cuda())
