# expect: DV108 | gpus: 2 | operands: graph.degree().unsqueeze(1) | owner: program
"""A graph keeps what a method has computed, and its own `to` passes that by."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn


@dataclass
class Graph:
    x: torch.Tensor
    ends: torch.Tensor
    kept: torch.Tensor | None = None

    def degree(self):
        if self.kept is None:
            self.kept = torch.bincount(self.ends, minlength=len(self.x)).float()
        return self.kept

    def to(self, device):
        return replace(self, x=self.x.to(device), ends=self.ends.to(device))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, graph):
        return replace(graph, x=self.linear(graph.x) / graph.degree().unsqueeze(1))


graph = Graph(torch.randn(4, 3), torch.arange(4)).to("cuda:0")
graph = Layer().to("cuda:0")(graph).to("cuda:1")
Layer().to("cuda:1")(graph)
