import torch

rank = 6
x = torch.ones(3).to(f"cuda:{rank}")
