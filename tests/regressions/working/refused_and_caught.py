"""A program that asks for forgiveness: the refusal is its own business."""

import torch

x = torch.ones(2, device="cuda:0")
try:
    x + torch.ones(2)
except RuntimeError:
    x + torch.ones(2).to(x.device)
