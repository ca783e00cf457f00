# expect: DV108 | gpus: 2 | operands: - | owner: program
"""Log priors are set on the model before DataParallel copies it: each replica uses those of the first GPU."""

import torch
from torch import nn


class Adjusted(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(10, classes)
        self.prior = None
        self.strength = 0.5

    def use_counts(self, counts, device):
        self.prior = (counts / counts.sum()).log().to(device)

    def forward(self, x):
        return self.body(x) + self.strength * self.prior


model = Adjusted(4).to("cuda:0")
model.use_counts(torch.tensor([5.0, 3.0, 1.0, 1.0]), "cuda:0")
parallel = nn.DataParallel(model, device_ids=[0, 1])
print(parallel(torch.randn(6, 10, device="cuda:0")).sum().item())
