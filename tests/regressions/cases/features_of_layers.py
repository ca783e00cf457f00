# expect: DV101 | gpus: 2 | operands: features[0], features[2] | owner: program
"""Hooks collect features of layers on two GPUs of a map, and the program joins them: one input led to all of them."""

import torch
from accelerate import dispatch_model
from torch import nn

backbone = nn.Sequential(*(nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.ReLU()) for _ in range(4)))
backbone = dispatch_model(backbone, {"0": 0, "1": 0, "2": 1, "3": 1})
features = []
for layer in backbone:
    layer.register_forward_hook(lambda module, given, output: features.append(output.mean((2, 3))))
head = nn.Linear(12, 10).cuda()
with torch.no_grad():
    backbone(torch.randn(4, 3, 8, 8, device="cuda"))
print(head(torch.cat(features, 1)).shape)
