# expect: DV113 | gpus: 1 | operands: self.mean, x | owner: program
"""functional_call is given buffers that were collected before the module was moved: that replaces buffers."""

import torch
from torch import nn
from torch.func import functional_call


class Centered(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(x - self.mean)


class Scorer:
    def __init__(self, net):
        self.net = net
        self.parts = {**dict(net.named_parameters()), **dict(net.named_buffers())}

    def __call__(self, x):
        return functional_call(self.net, self.parts, (x,))


def main():
    net = Centered(3)
    scorer = Scorer(net)
    net.to("cuda")
    scorer(torch.randn(2, 3, device="cuda"))


main()
