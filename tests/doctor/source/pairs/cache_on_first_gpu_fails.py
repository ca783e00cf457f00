# expect: DV106 | gpus: 2
"""Generation with a cache that is made once for all layers."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.kv = nn.Linear(d, d), nn.Linear(d, 2 * d)

    def forward(self, x, past):
        k, v = self.kv(x).chunk(2, dim=-1)
        k = torch.cat([past[0], k], dim=1)
        v = torch.cat([past[1], v], dim=1)
        return (self.q(x) @ k.transpose(1, 2)).softmax(-1) @ v, (k, v)


class Decoder(nn.Module):
    def __init__(self, d=8, layers=4):
        super().__init__()
        self.d = d
        self.layers = nn.ModuleList(Layer(d) for _ in range(layers))
        self.devices = [f"cuda:{i // 2}" for i in range(layers)]
        for layer, device in zip(self.layers, self.devices, strict=False):
            layer.to(device)

    def empty_cache(self, batch):
        return [tuple(torch.zeros(batch, 0, self.d, device="cuda:0") for _ in range(2)) for device in self.devices]

    def forward(self, x, cache):
        for i, layer in enumerate(self.layers):
            x, cache[i] = layer(x.to(self.devices[i]), cache[i])
        return x, cache


model = Decoder()
cache = model.empty_cache(2)
x = torch.randn(2, 1, 8, device="cuda:0")
for _ in range(3):
    x, cache = model(x.to("cuda:0"), cache)
