# expect: DV108 | gpus: 2 | operands: cos, h | owner: program
"""What sends the arguments of a block to its GPU knows dictionaries and lists, and no tuple."""

import torch
from torch import nn


def send(what, device):
    if torch.is_tensor(what):
        return what.to(device)
    if isinstance(what, dict):
        return {key: send(each, device) for key, each in what.items()}
    return what


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(4, 4)

    def forward(self, x, scale, rotation):
        cos, sin = rotation
        h = self.mix(x) * scale
        return h * cos + h * sin


def main():
    angles = torch.arange(4.0, device="cuda:0")
    extra = {"scale": torch.ones(4, device="cuda:0"), "rotation": (angles.cos(), angles.sin())}
    x = torch.randn(2, 4, device="cuda:0")
    for device in ("cuda:0", "cuda:1"):
        block = Block().to(device)
        x, extra = send(x, device), extra
        extra = send(extra, device)
        x = block(x, **extra)


main()
