"""Blocks are kept whole where the program has a device map inferred."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_the_call_that_infers_the_map_names_the_class_of_the_blocks(fixed: Fixed):
    (line,) = fixed(
        """
import torch
from accelerate import dispatch_model, infer_auto_device_map
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)

torch.manual_seed(0)
model = Net()
block = sum(each.numel() * 4 for each in model.blocks[0].parameters())
device_map = infer_auto_device_map(model, max_memory={0: int(2.3 * block), 1: 10 * block})
model = dispatch_model(model, device_map=device_map)
print(model(torch.ones(2, 8, device="cuda:0")).sum().item())
""",
        gpus=2,
    )
    assert line.endswith('1: 10 * block}, no_split_module_classes=["Block"])')
