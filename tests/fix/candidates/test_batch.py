"""Batches of a loader go to the model."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_a_batch_moves_where_the_loop_takes_it(fixed: Fixed):
    (line,) = fixed("""
import torch
from torch.utils.data import DataLoader

class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(2, 1), torch.nn.Linear(3, 1)

    def forward(self, input1, input2):
        return self.one(input1) + self.two(input2)

model = Both().cuda()
rows = [{"input1": torch.randn(2), "input2": torch.randn(3)} for _ in range(4)]
for batch in DataLoader(rows, batch_size=2):
    model(**batch).sum().backward()
""")
    assert line == "batch = {key: each.to(next(model.parameters()).device) for key, each in batch.items()}"
