# expect: DV107 | gpus: 2 | operands: skip, self.upsample(x) | owner: accelerate
"""A U-Net in two halves by a map: the skip connection joins both GPUs."""

import torch
from accelerate import dispatch_model
from torch import nn


class UNet(nn.Module):
    def __init__(self, c=4):
        super().__init__()
        self.inc = nn.Conv2d(1, c, 3, padding=1)
        self.down = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU())
        self.mid = nn.Conv2d(2 * c, 2 * c, 3, padding=1)
        self.upsample = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.up = nn.Conv2d(2 * c, c, 3, padding=1)
        self.outc = nn.Conv2d(c, 2, 1)

    def forward(self, image):
        skip = self.inc(image)
        x = self.down(skip)
        x = self.mid(x)
        x = torch.cat([self.upsample(x), skip], dim=1)
        return self.outc(self.up(x))


device_map = {"inc": 0, "down": 0, "mid": 1, "upsample": 1, "up": 1, "outc": 1}
model = dispatch_model(UNet(), device_map=device_map)
masks = model(torch.rand(2, 1, 8, 8))
print(masks.argmax(1).float().mean().item())
