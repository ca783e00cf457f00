# expect: DV104 | gpus: 2 | operands: block.balance, extra | owner: program
"""Each block of a routed model leaves the loss of its router in an attribute; they are added up on the last GPU."""

import torch
from torch import nn


class Routed(nn.Module):
    def __init__(self, width, experts=3):
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))
        self.balance = None

    def forward(self, x):
        share = self.router(x).softmax(-1)
        self.balance = share.mean(0).pow(2).sum()
        return x + sum(share[:, n : n + 1] * expert(x) for n, expert in enumerate(self.experts))


class Stack(nn.Module):
    def __init__(self, width, places):
        super().__init__()
        self.blocks = nn.ModuleList(Routed(width).to(place) for place in places)
        self.places = places

    def forward(self, x):
        for block, place in zip(self.blocks, self.places, strict=True):
            x = block(x.to(place))
        return x


def loss_of(model, out, target):
    extra = torch.zeros((), device=out.device)
    for block in model.blocks:
        extra = extra + block.balance
    return nn.functional.mse_loss(out, target.to(out.device)) + 0.01 * extra


model = Stack(8, ["cuda:0", "cuda:0", "cuda:1"])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(4, 8)
    loss_of(model, model(x), x).backward()
    optimizer.step()
