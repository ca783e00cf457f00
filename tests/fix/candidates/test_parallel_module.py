"""A module that DataParallel wraps is on its first GPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]

PROGRAM = """
import torch

gpus = [0, 1]
model = torch.nn.Linear(3, 1).to("cuda:1")
parallel = torch.nn.DataParallel(model{given})
parallel(torch.ones(4, 3, device="cuda:0")).sum().backward()
"""


@pytest.mark.parametrize(("given", "first"), [("", '"cuda:0"'), (", device_ids=gpus", "gpus[0]"), (", [0, 1]", "0")])
def test_the_module_moves_where_it_is_wrapped(fixed: Fixed, given: str, first: str):
    after = fixed(PROGRAM.format(given=given), gpus=2)
    assert after == [f"parallel = torch.nn.DataParallel(model.to({first}){given})"]
