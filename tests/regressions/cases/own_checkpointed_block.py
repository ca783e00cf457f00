# expect: DV108 | gpus: 1 | operands: h, self.scale | owner: program
"""Activation checkpointing runs a block whose helper object keeps a tensor."""

import torch
from torch.utils.checkpoint import checkpoint


class Norm:
    def __init__(self, width):
        self.scale = torch.ones(width)

    def __call__(self, h):
        return h * self.scale


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = torch.nn.Linear(width, width)
        self.norm = Norm(width)

    def forward(self, h):
        return self.norm(self.lin(h))


block = Block(4).to("cuda:0")
checkpoint(block, torch.randn(2, 4, device="cuda:0", requires_grad=True), use_reentrant=False)
