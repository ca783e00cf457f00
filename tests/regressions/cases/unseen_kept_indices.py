# expect: DV101 | gpus: 2 | operands: rows, into | owner: program
"""An autograd function looks rows up on the table's GPU, and keeps the indices that it was given for its backward."""

import torch


class Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, table):
        ctx.save_for_backward(rows)
        ctx.shape, ctx.home = table.shape, table.device
        return table[rows.to(table.device)].to(rows.device)

    @staticmethod
    def backward(ctx, grad):
        (rows,) = ctx.saved_tensors
        into = torch.zeros(ctx.shape, device=ctx.home)
        into.index_add_(0, rows, grad.to(ctx.home))
        return None, into


table = torch.randn(8, 3, device="cuda:1", requires_grad=True)
Lookup.apply(torch.tensor([1, 5, 1], device="cuda:0"), table).sum().backward()
