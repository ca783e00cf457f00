# expect: DV113 | gpus: 2 | operands: degree, self.lin(x)[src] | owner: program
"""What one layer computed of a graph is remembered under the graph's name, for the layers on the other GPU too."""

import torch
from torch import nn

KNOWN = {}


def degrees(name, edges, count):
    if name not in KNOWN:
        ones = torch.ones(edges.shape[1], device=edges.device)
        degree = torch.zeros(count, device=edges.device).index_add_(0, edges[1], ones).clamp(min=1)
        KNOWN[name] = degree[edges[1]].unsqueeze(1)
    return KNOWN[name]


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, width)

    def forward(self, x, edges, name):
        src, dst = edges
        degree = degrees(name, edges, len(x))
        sent = self.lin(x)[src] / degree
        return torch.zeros_like(x).index_add_(0, dst, sent)


class Net(nn.Module):
    def __init__(self, width, gpus):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width).to(gpu) for gpu in gpus)
        self.gpus = gpus

    def forward(self, x, edges, name):
        for layer, gpu in zip(self.layers, self.gpus, strict=True):
            x, edges = x.to(gpu), edges.to(gpu)
            x = layer(x, edges, name).relu()
        return x


net = Net(8, ["cuda:0", "cuda:1"])
edges = torch.randint(0, 20, (2, 60))
net(torch.randn(20, 8), edges, "train").sum().backward()
