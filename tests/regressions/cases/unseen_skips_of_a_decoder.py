# expect: DV101 | gpus: 2 | operands: skip, x | owner: program
"""The forward that hands an encoder's results to the decoder on the next GPU moves one of them."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        skips = []
        for layer in self.layers:
            x = torch.relu(layer(x))
            skips.append(x)
        return x, skips


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 4), nn.Linear(8, 4)])

    def forward(self, x, skips):
        for layer, skip in zip(self.layers, reversed(skips), strict=True):
            x = layer(torch.cat([x, skip], dim=1))
        return x


class Net(nn.Module):
    def __init__(self, first="cuda:0", second="cuda:1"):
        super().__init__()
        self.first, self.second = torch.device(first), torch.device(second)
        self.encoder, self.decoder = Encoder().to(self.first), Decoder().to(self.second)

    def forward(self, x):
        x, skips = self.encoder(x.to(self.first))
        x = x.to(self.second)
        return self.decoder(x, skips)


print(Net()(torch.randn(2, 4)).sum())
