"""A worker of a data loader leaves the GPU to the process that reads from it."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_a_batch_moves_in_the_loop_and_not_in_the_worker(fixed: Fixed):
    assert fixed("""
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda")

def collate(items):
    x = torch.stack(items)
    return x.to(device), x.sum(1).to(device)

model = torch.nn.Linear(3, 1).to(device)
loader = DataLoader(list(torch.randn(8, 3)), batch_size=4, num_workers=1, collate_fn=collate)
for x, y in loader:
    (model(x).squeeze(1) - y).square().mean().backward()
""") == ["return x, x.sum(1)", "x, y = x.to(model.bias.device), y.to(model.bias.device)"]
