"""A move that takes a part of a model away is left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]


def test_parts_of_a_dispatched_model_stay_where_they_are(fixed: Fixed):
    pytest.importorskip("accelerate")
    assert fixed(
        """
import torch
from accelerate import dispatch_model

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)))
model = dispatch_model(model, {"0": 0, "1.0": 0, "1.1": 1})
model[1].cuda()
print(model(torch.randn(2, 4)).sum())
""",
        gpus=2,
    ) in ([], ["pass"])


def test_moves_beside_one_another_go_together(fixed: Fixed):
    assert fixed(
        """
import torch

class Forecaster(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnns = torch.nn.ModuleList(torch.nn.LSTM(3, 3).to(f"cuda:{gpu}") for gpu in range(2))
        self.states = [None, None]

    def snapshot(self):
        for i, (h, c) in enumerate(self.states):
            self.states[i] = (h.cpu(), c.cpu())
        return list(self.states)

    def forward(self, x):
        for i, rnn in enumerate(self.rnns):
            x, self.states[i] = rnn(x.to(f"cuda:{i}"), self.states[i])
        return x

torch.manual_seed(0)
model = Forecaster()
with torch.no_grad():
    model(torch.randn(2, 1, 3))
    kept = model.snapshot()
    print(model(torch.randn(2, 1, 3)).sum().item())
""",
        gpus=2,
    ) == ["self.states[i] = (h, c)"]
