# expect: DV108 | gpus: 1 | operands: rows @ rows.T, same | owner: torch
"""A penalty reads pruned weights after the model was moved and before its first forward, which computes them anew."""

import torch
from torch import nn
from torch.nn.utils import prune


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.high = nn.Linear(4, 6), nn.Linear(6, 2)

    def forward(self, x):
        return self.high(self.low(x).relu())


def spread(model, device):
    rows = nn.functional.normalize(model.low.weight, dim=1)
    same = torch.eye(len(rows), device=device)
    return (rows @ rows.T - same).square().mean()


model = Net()
for layer in (model.low, model.high):
    prune.l1_unstructured(layer, "weight", amount=0.5)
model.to("cuda")
penalty = spread(model, "cuda")
(model(torch.randn(3, 4, device="cuda")).square().mean() + penalty).backward()
