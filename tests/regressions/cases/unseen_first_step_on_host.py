# expect: DV110 | gpus: 1 | operands: exp_avg, device_grads[0] | owner: program
"""A first step is made on the host, then the model goes to the GPU and training continues."""

import torch
from torch import nn


def step(model, optimizer, x, y):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(6, 4), torch.randn(6, 1)
print("smoke test on the host:", step(model, optimizer, x, y) > 0)
model.cuda()
for _ in range(2):
    step(model, optimizer, x.cuda(), y.cuda())
