# expect: DV115 | gpus: 2 | operands: labels, logits | owner: program
"""A model makes its own labels with a bare `cuda()`; it is on the second GPU."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy


class Contrast(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.encoder = nn.Linear(3, 4).to(device)

    def forward(self, x):
        labels = torch.zeros(len(x), dtype=torch.long).cuda()
        return self.encoder(x), labels


model = Contrast(torch.device("cuda:1"))
logits, labels = model(torch.randn(2, 3, device="cuda:1"))
cross_entropy(logits, labels).backward()
