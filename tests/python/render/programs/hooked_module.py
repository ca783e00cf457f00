import lossy
import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = lossy.dispatch(nn.Linear(4, 8, bias=False, device="cuda:0"))

    def forward(self, x):
        return self.up(x).relu()


mlp = lossy.dispatch(Mlp())
mlp(torch.ones(1, 3, 4, device="cuda:2"))
