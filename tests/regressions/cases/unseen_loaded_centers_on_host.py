# expect: DV108 | gpus: 1 | operands: features, self.centers | owner: torch.load
"""The centers of a head are read to the CPU, by a module that is given the device of the rest."""

import io

import torch
from torch import nn


class CenterHead(nn.Module):
    def __init__(self, dim, file, dev):
        super().__init__()
        self.project = nn.Linear(dim, 4, device=dev)
        self.centers = torch.load(file, map_location="cpu")["centers"]

    def forward(self, x):
        features = self.project(x)
        return torch.cdist(features, self.centers)


file = io.BytesIO()
torch.save({"centers": torch.randn(5, 4)}, file)
file.seek(0)
head = CenterHead(8, file, "cuda:0")
head(torch.randn(2, 8, device="cuda"))
