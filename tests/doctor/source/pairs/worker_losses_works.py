# expect: clean | gpus: 2
"""Two towers give their losses on their own GPUs; the sum is what is trained."""

import torch
from torch import nn


def make(gpu):
    return nn.Linear(4, 1).to(f"cuda:{gpu}")


def loss_of(model, x, y):
    device = next(model.parameters()).device
    return nn.functional.mse_loss(model(x.to(device)), y.to(device))


models = [make(i) for i in range(2)]
params = [p for m in models for p in m.parameters()]
optimizer = torch.optim.SGD(params, lr=0.01)
for _ in range(2):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    losses = [loss_of(m, x, y) for m in models]
    total = sum(loss.to("cuda:0") for loss in losses)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
