# expect: DV102 | gpus: 1 | operands: y * 2, grid | owner: program
"""yolov7 1101: a grid is made without a device inside forward."""

import torch


class Detect(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 2, 1)

    def forward(self, x):
        y = self.conv(x).sigmoid()
        n = y.shape[-1]
        grid = torch.stack(torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij"), 0).float()
        return y * 2 + grid


Detect().to("cuda:0")(torch.randn(1, 3, 4, 4).to("cuda:0"))
