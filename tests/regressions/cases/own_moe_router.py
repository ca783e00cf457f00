# expect: DV101 | gpus: 2 | operands: expert_out, weights | owner: program
"""Experts are on two GPUs by hand; what a router on the first one weighs is not brought along."""

import torch
from torch import nn


class MoE(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.router = nn.Linear(width, 2).to("cuda:0")
        self.experts = nn.ModuleList([nn.Linear(width, width).to(f"cuda:{i}") for i in range(2)])

    def forward(self, x):
        weights = self.router(x).softmax(-1)
        out = self.experts[0](x) * weights[:, :1]
        expert_out = self.experts[1](x.to("cuda:1"))
        expert_out = expert_out * weights[:, 1:]
        return out + expert_out.to(out.device)


MoE(4)(torch.randn(3, 4, device="cuda:0"))
