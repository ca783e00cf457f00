"""A program that asks for forgiveness: where it did so is told at its end, and is no finding."""

import torch

x = torch.ones(2, device="cuda:0")
try:
    x + torch.ones(2)
except RuntimeError:
    x + torch.ones(2).to(x.device)
