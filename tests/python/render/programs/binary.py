import torch

weight = torch.ones(4, 5)
x = torch.ones(3, 4, device="cuda:1")
y = x @ weight
