# expect: DV104 | gpus: 2 | operands: layers.1.penalty, sum(...) | owner: program
"""Python's sum adds up what each layer keeps of its own loss, on the GPU of the layer."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 8)

    def forward(self, x):
        chosen = self.gate(x).softmax(-1)
        self.penalty = chosen.mean(0).pow(2).sum()
        return x + chosen


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer().to(f"cuda:{gpu}") for gpu in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x.to(layer.gate.weight.device))
        return x, sum(layer.penalty for layer in self.layers)


output, penalty = Net()(torch.randn(4, 8, device="cuda:0"))
(output.sum().to("cuda:0") + penalty).backward()
