import torch

a, b = torch.ones(2, 3, device="cuda:0"), torch.ones(2, 3, device="cuda:1")
torch.cat([a, b], dim=0)
