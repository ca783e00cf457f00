# expect: DV103 | gpus: 2 | operands: graph.nodes, weight | owner: program
"""A graph's own method goes through all that it holds, and drops what each move returns."""

import torch
from torch import nn


class Graph:
    def __init__(self, nodes, edges, name):
        self.nodes, self.edges = nodes, edges
        self.name = name

    def send(self, target):
        for key, value in vars(self).items():
            if key != "name" and torch.is_tensor(value):
                value.to(target)


class Convolve(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(4))

    def forward(self, graph):
        weight = self.weight
        mixed = graph.nodes @ weight
        return mixed.index_add(0, graph.edges[1], mixed[graph.edges[0]])


def load(device):
    nodes = torch.randn(5, 4, device=device)
    return Graph(nodes, torch.randint(0, 5, (2, 8), device=device), "ring")


def run(convolve, graph):
    graph.send(torch.device("cuda", 1))
    return convolve(graph)


run(Convolve().to("cuda:1"), load("cuda:0"))
