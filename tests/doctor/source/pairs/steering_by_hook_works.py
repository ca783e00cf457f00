# expect: clean | gpus: 2
"""A vector is added to what a layer gives, in a hook; the layers are spread by hand."""

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self, d=8, n=4):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(n)])

    def spread(self, gpus):
        per = len(self.layers) // gpus
        for i, layer in enumerate(self.layers):
            layer.to(f"cuda:{i // per}")
        return self

    def forward(self, x):
        for layer in self.layers:
            x = layer(x.to(layer.weight.device))
        return x


def steer(model, index, device):
    layer = model.layers[index]
    delta = torch.zeros(8, device=device)

    def hook(module, args, output):
        return output + delta.to(output.device)

    return layer.register_forward_hook(hook)


model = Stack().spread(2)
steer(model, 3, "cuda:0")
print(model(torch.randn(2, 8)).shape)
