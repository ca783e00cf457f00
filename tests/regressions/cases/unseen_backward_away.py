# expect: DV101 | gpus: 2 | operands: grad, kept | owner: -
"""A function of the program's own sends its result to the next stage, and its backward works where the gradient is."""

import torch


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, stage):
        kept = x > 0
        ctx.save_for_backward(kept)
        return (x * kept).to(stage)

    @staticmethod
    def backward(ctx, grad):
        (kept,) = ctx.saved_tensors
        return grad * kept, None


x = torch.randn(4, 3, device="cuda:0", requires_grad=True)
Gate.apply(x, "cuda:1").square().sum().backward()
