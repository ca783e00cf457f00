# expect: DV101 | gpus: 2
"""CLIP-like: the towers are on two GPUs, the logits are a product of both."""

import argparse

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=-1)


class Clip(nn.Module):
    def __init__(self, text_device, image_device):
        super().__init__()
        self.text_device, self.image_device = text_device, image_device
        self.text = Tower(10, 8).to(text_device)
        self.image = Tower(12, 8).to(image_device)

    def forward(self, text, image):
        t = self.text(text.to(self.text_device))
        i = self.image(image.to(self.image_device))
        return t @ i.T


parser = argparse.ArgumentParser()
parser.add_argument("--text-device", default="cuda:0")
parser.add_argument("--image-device", default="cuda:1")
args = parser.parse_args([])
clip = Clip(args.text_device, args.image_device)
print(clip(torch.randn(3, 10), torch.randn(3, 12)).shape)
