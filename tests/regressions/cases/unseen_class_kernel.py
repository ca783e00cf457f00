# expect: DV108 | gpus: 1 | operands: self.kernel, x | owner: program
"""A fixed filter is an attribute of the class."""

import torch
from torch import nn


class Sobel(nn.Module):
    kernel = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]).view(1, 1, 3, 3)

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.gain * nn.functional.conv2d(x, self.kernel, padding=1)


m = Sobel().to("cuda")
print(m(torch.rand(1, 1, 8, 8, device="cuda")).mean())
