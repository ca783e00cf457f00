# expect: DV110 | gpus: 1 | operands: master, p.grad.float() | owner: program
"""Half-precision training with float32 copies that were taken before the model moved."""

import torch
from torch import nn


class MasterWeights:
    def __init__(self, params, lr):
        self.params = [p for p in params if p.requires_grad]
        self.master = [p.detach().clone().float().requires_grad_(True) for p in self.params]
        self.inner = torch.optim.SGD(self.master, lr=lr, momentum=0.9)

    def step(self):
        for p, master in zip(self.params, self.master, strict=False):
            master.grad = p.grad.float()
        self.inner.step()
        with torch.no_grad():
            for p, master in zip(self.params, self.master, strict=False):
                p.copy_(master)
        for p in self.params:
            p.grad = None


def train(model, optimizer, steps, device):
    model.half().to(device)
    for _ in range(steps):
        x = torch.randn(4, 8, device=device, dtype=torch.half)
        model(x).float().pow(2).mean().backward()
        optimizer.step()


model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = MasterWeights(model.parameters(), lr=0.1)
train(model, optimizer, 2, "cuda:0")
