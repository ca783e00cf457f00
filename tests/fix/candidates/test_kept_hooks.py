"""The hooks of a dispatched model stay."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]


def test_a_model_that_is_exported_and_called_again_keeps_its_hooks(fixed: Fixed):
    pytest.importorskip("accelerate")
    assert (
        fixed(
            """
import torch
from accelerate import dispatch_model
from accelerate.hooks import remove_hook_from_module

def export(model):
    remove_hook_from_module(model, recurse=True)
    return {name: value.cpu() for name, value in model.state_dict().items()}

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
model = dispatch_model(model, {"0": 0, "1": 1})
print(model(torch.ones(2, 4)).sum().item())
export(model)
print(model(torch.ones(2, 4, device="cuda:0")).sum().item())
""",
            gpus=2,
        )
        == []
    )  # the statement is gone, and nothing is added
