import torch

cache = torch.empty(100 << 30, device="cuda:2")
