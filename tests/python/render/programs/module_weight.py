import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.up = nn.Linear(4, 8)

    def forward(self, x):
        return self.up(self.norm(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)[..., :4]
        return x


model = Model().to("cuda:0")
model.layers[1].up.to("cuda:2")
model(torch.ones(3, 4, device="cuda:0"))
