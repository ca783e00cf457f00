# expect: DV102 | gpus: 1 | operands: grad | owner: program
"""The backward of a custom function makes its gradient on the host."""

import torch


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad = torch.zeros(x.shape)
        return grad


weight = torch.randn(4, device="cuda:0", requires_grad=True)
Clamp.apply(weight).sum().backward()
