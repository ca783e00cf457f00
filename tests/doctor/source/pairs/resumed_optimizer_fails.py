# expect: DV110 | gpus: 1
"""A run that is resumed: the state of the optimizer goes to where the parameters are when it is loaded."""

import torch
from torch import nn

model = nn.Linear(8, 1)
optimizer = torch.optim.Adam(model.parameters())
model(torch.randn(4, 8)).sum().backward()
optimizer.step()
saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}

model = nn.Linear(8, 1)
model.load_state_dict(saved["model"])
optimizer = torch.optim.Adam(model.parameters())
optimizer.load_state_dict(saved["optimizer"])
model.to("cuda:0")
model(torch.randn(4, 8, device="cuda:0")).sum().backward()
optimizer.step()
