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
