# expect: DV108 | gpus: 1 | operands: x, matrix | owner: program
"""pytorch 29807: a list keeps the tensors that were registered as buffers; the move replaces the registered ones."""

import torch
from torch import nn


class Filters(nn.Module):
    def __init__(self):
        super().__init__()
        self.matrices = []
        for k in range(2):
            matrix = torch.randn(4, 4)
            self.register_buffer(f"matrix_{k}", matrix)
            self.matrices.append(matrix)

    def forward(self, x):
        for matrix in self.matrices:
            x = x.matmul(matrix)
        return x


model = Filters().cuda()
model(torch.randn(2, 4).cuda())
