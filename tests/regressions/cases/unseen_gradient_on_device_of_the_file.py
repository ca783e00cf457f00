# expect: DV101 | gpus: 2 | operands: grad, rows | owner: program
"""A function's own backward makes the gradient on the device that the file names; the table is on another GPU."""

import torch
from torch import nn

device = torch.device("cuda:0")


class Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, rows):
        ctx.save_for_backward(rows)
        ctx.size = table.size(0)
        return table[rows]

    @staticmethod
    def backward(ctx, grad_out):
        (rows,) = ctx.saved_tensors
        grad = torch.zeros(ctx.size, grad_out.size(1), device=device)
        grad.index_add_(0, rows, grad_out)
        return grad, None


class Tower(nn.Module):
    def __init__(self, place):
        super().__init__()
        self.place = place
        self.table = nn.Parameter(torch.randn(6, 3))

    def forward(self, rows):
        return Lookup.apply(self.table, rows.to(self.place))


users, items = Tower(device).to(device), Tower(torch.device("cuda:1")).to("cuda:1")
scores = users(torch.tensor([0, 1])) * items(torch.tensor([2, 3])).to(device)
scores.sum().backward()
