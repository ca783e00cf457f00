# expect: DV108 | gpus: 2 | operands: below, ctx.levels | owner: program
"""A loss keeps its levels in a plain attribute; forward moves a copy, and backward uses what was saved."""

import torch
from torch import nn


class Pinball(torch.autograd.Function):
    @staticmethod
    def forward(ctx, errors, levels):
        ctx.save_for_backward(errors)
        ctx.levels = levels
        moved = levels.to(errors.device)
        return torch.maximum(moved * errors, (moved - 1) * errors)

    @staticmethod
    def backward(ctx, gradient):
        below = (ctx.saved_tensors[0] < 0).float()
        return gradient * (below - ctx.levels), None


class PinballLoss(nn.Module):
    def __init__(self, levels):
        super().__init__()
        self.levels = torch.tensor(levels)

    def forward(self, errors):
        return Pinball.apply(errors, self.levels).mean()


device = torch.device("cuda:1")
model = nn.Linear(4, 3).to(device)
criterion = PinballLoss((0.1, 0.5, 0.9)).to(device)
criterion(model(torch.randn(2, 4, device=device))).backward()
