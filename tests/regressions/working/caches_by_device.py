"""A rotary table and a cache of keys, each kept for its own device."""

import torch

tables, keys = {}, []


def table(length, device):
    if (length, device) not in tables:
        tables[length, device] = torch.arange(length, device=device).float()[:, None]
    return tables[length, device]


layers = [torch.nn.Linear(4, 4).to(f"cuda:{number}") for number in range(2)]
hidden = torch.randn(3, 4)
for _ in range(2):
    for layer in layers:
        hidden = layer(hidden.to(layer.weight.device))
        hidden = hidden * table(len(hidden), hidden.device)
        keys.append(hidden)
sum(key.to("cuda:0") for key in keys)
