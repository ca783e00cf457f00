# expect: DV105 | gpus: 2 | operands: self.weight | owner: accelerate
"""A dispatched model is pruned without its hooks, and nobody hangs them up again."""

import torch
from accelerate import dispatch_model
from accelerate.hooks import remove_hook_from_module
from torch import nn


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * x


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.mix = Scale(width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.mix(self.scale(x)).relu()


class Tower(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


@torch.no_grad()
def prune(model, keep):
    remove_hook_from_module(model, recurse=True)
    for block in model.blocks:
        block.mix.weight.mul_(block.mix.weight.abs() > keep)
    return model


def main():
    model = dispatch_model(Tower(8, 4), {f"blocks.{at}": at // 2 for at in range(4)})
    x = torch.rand(3, 8)
    before = model(x)
    after = prune(model, 0.1)(x.to("cuda:0"))
    print((after - before).abs().max())


main()
