# expect: DV106 | gpus: 2 | operands: self.keys[layer], key | owner: program
"""A cache that is allocated on one GPU for all layers."""

import torch


class StaticCache:
    def __init__(self, layers, device):
        self.keys = [torch.zeros(1, 4, 8, device=device) for _ in range(layers)]

    def update(self, key, layer):
        return torch.cat([self.keys[layer], key], dim=1)


cache = StaticCache(2, "cuda:0")
layers = [torch.nn.Linear(8, 8).to("cuda:0"), torch.nn.Linear(8, 8).to("cuda:1")]
x = torch.randn(1, 1, 8, device="cuda:0")
for number, layer in enumerate(layers):
    key = layer(x.to(f"cuda:{number}"))
    cache.update(key, number)
