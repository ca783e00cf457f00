# expect: DV103 | gpus: 1 | operands: img, 0.weight, 0.bias | owner: program
"""EfficientNet 52: the input was never moved."""

import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.ReLU()).to("cuda")
img = torch.randn(1, 3, 8, 8)
model(img)
