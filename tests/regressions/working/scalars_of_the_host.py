"""What the host may join: 0-dim tensors, indices, numbers; copies between devices."""

import torch

x = torch.randn(4, 4, device="cuda:1")
x * torch.tensor(2.0) + x[torch.tensor([0, 1])].sum()
torch.where(x > 0, x, torch.tensor(0.0))
y = torch.empty(4, 4)
y.copy_(x)
x[0] = torch.ones(4)
