# expect: DV103 | gpus: 1 | operands: self.centers, features | owner: program
"""A loss that is trained, too, is never moved; the model is."""

import torch
from torch import nn


class CenterLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(2, 4))

    def forward(self, features):
        return (features.unsqueeze(1) - self.centers).square().mean()


net = nn.Linear(3, 4).to("cuda")
criterion = CenterLoss()
criterion(net(torch.ones(5, 3, device="cuda")))
