# expect: DV110 | gpus: 1 | operands: exp_avg, grad | owner: program
"""The optimizer's state is loaded before the model moves."""

import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.Adam(model.parameters(), foreach=False)
model(torch.randn(2, 4)).sum().backward()
optimizer.step()
model.to("cuda:0")
optimizer.zero_grad()
model(torch.randn(2, 4, device="cuda:0")).sum().backward()
optimizer.step()
