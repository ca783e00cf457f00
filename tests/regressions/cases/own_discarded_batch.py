# expect: DV103 | gpus: 1 | operands: image, self.conv.weight | owner: program
"""A helper that should move a nested batch moves it and returns nothing."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 1, bias=False)

    def forward(self, image, mask=None):
        return self.conv(image)


def move(batch, device):
    for value in batch.values():
        value.to(device)


net = Net().to("cuda")
inputs = {"image": torch.randn(1, 3, 4, 4), "mask": torch.ones(1, 4, 4)}
move(inputs, "cuda")
net(**inputs)
