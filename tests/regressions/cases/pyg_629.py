# expect: DV102 | gpus: 1 | operands: edge_weight, deg | owner: program
"""PyG 629: for a graph without edges a fresh tensor takes another way."""

import torch


class Conv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def norm(self, x, deg):
        edge_weight = torch.ones(deg.numel())
        return edge_weight * deg

    def forward(self, x):
        h = self.lin(x)
        return self.norm(h, h.sum(1))


Conv().cuda()(torch.randn(5, 4, device="cuda"))
