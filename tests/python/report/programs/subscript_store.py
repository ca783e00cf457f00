import torch

cache = {"k": torch.zeros(2, 4, device="cuda:1")}
mask = torch.ones(2, 4, dtype=torch.bool, device="cuda:2")
cache["k"][mask] = 0.0
