import torch

generator = torch.Generator()
noise = torch.randn(3, device="cuda:0", generator=generator)
