# expect: DV110 | gpus: 1 | operands: exp_avg, grad | owner: program
"""A model that has taken a step on the host is moved; Adam's averages stay."""

import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)


def step(x):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()


step(torch.randn(2, 4))
model.to("cuda:0")
step(torch.randn(2, 4).to("cuda:0"))
