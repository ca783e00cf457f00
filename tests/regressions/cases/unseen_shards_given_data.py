# expect: DV113 | gpus: 2 | operands: part.weight, x.to(gpu) | owner: program
"""Each shard gets its rows of a trained layer by `.data`, from the GPU that the layer was trained on."""

import torch
from torch import nn


class Sharded(nn.Module):
    def __init__(self, wide, narrow, gpus):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(wide, narrow // len(gpus), bias=False).to(gpu) for gpu in gpus)
        self.gpus = gpus

    def load(self, layer):
        for part, rows in zip(self.parts, layer.weight.detach().chunk(len(self.gpus)), strict=True):
            part.weight.data = rows.clone()

    def forward(self, x):
        done = []
        for part, gpu in zip(self.parts, self.gpus, strict=True):
            done.append(part(x.to(gpu)).to(self.gpus[0]))
        return torch.cat(done, dim=-1)


trained = nn.Linear(16, 8, bias=False).to("cuda:0")
trained(torch.randn(4, 16, device="cuda:0")).sum().backward()
sharded = Sharded(16, 8, ["cuda:0", "cuda:1"])
sharded.load(trained)
sharded(torch.randn(4, 16)).sum().backward()
