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


def test_what_the_loop_moves_already_is_not_moved_again(fixed: Fixed):
    (line,) = fixed("""
import torch
from torch.utils.data import DataLoader

torch.manual_seed(0)
device = torch.device("cuda")
model = torch.nn.Linear(4, 3).to(device)
loss = torch.nn.CrossEntropyLoss()
rows = [(torch.randn(4), torch.tensor(1)) for _ in range(4)]
for ids, y in DataLoader(rows, batch_size=2):
    ids = ids.to(device)
    out = model(ids)
    loss(out, y).backward()
""")
    assert line == "y = y.to(device)"
