# expect: DV107 | gpus: 2 | operands: self.shortcut(x), hidden | owner: accelerate
"""A block's shortcut and its main path are on two GPUs."""

import torch
from accelerate import dispatch_model


class ResnetBlock(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(2, 2, 1)
        self.conv2 = torch.nn.Conv2d(2, 2, 1)
        self.shortcut = torch.nn.Conv2d(2, 2, 1)

    def forward(self, x):
        hidden = self.conv2(self.conv1(x))
        return torch.cat([self.shortcut(x), hidden], dim=1)


class Unet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([ResnetBlock()])

    def forward(self, x):
        return self.blocks[0](x)


model = dispatch_model(Unet(), {"blocks.0.conv1": 0, "blocks.0.conv2": 1, "blocks.0.shortcut": 0})
model(torch.randn(1, 2, 3, 3))
