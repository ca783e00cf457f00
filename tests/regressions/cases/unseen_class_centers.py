# expect: DV113 | gpus: 2 | operands: features, self.centers | owner: -
"""Two heads, each on a GPU, add to one row of centers, which a class method has left on the class."""

import torch
from torch import nn


class Centers:
    centers = None

    @classmethod
    def start(cls, features, count):
        if cls.centers is None:
            cls.centers = features[:count].clone()

    def distance(self, features):
        return torch.cdist(features, self.centers)


class Head(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.project = nn.Linear(dim, 4)
        self.centers = Centers()

    def forward(self, x):
        features = self.project(x)
        Centers.start(features.detach(), 2)
        return self.centers.distance(features)


heads = [Head(6).to("cuda:0"), Head(6).to("cuda:1")]
x = torch.randn(5, 6)
for head, device in zip(heads, ("cuda:0", "cuda:1"), strict=True):
    head(x.to(device)).sum().backward()
