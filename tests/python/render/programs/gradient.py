import torch


class Hop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad.to("cuda:1")


x = torch.ones(3, device="cuda:0", requires_grad=True)
Hop.apply(x).sum().backward()
