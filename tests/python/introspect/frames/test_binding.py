"""From a name in a called function to the expression that its caller gave for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAM = """
import torch
from torch.nn.modules.module import register_module_forward_hook

def main():
    criterion = torch.nn.CrossEntropyLoss(weight=torch.ones(3))
    handle = register_module_forward_hook(lambda module, inputs, output: None)
    try:
        return criterion(torch.ones(2, 3, device="cuda"), torch.zeros(2, dtype=torch.long, device="cuda"))
    finally:
        handle.remove()

main()
"""


def test_a_module_that_is_called_through_hooks_is_named(explained: Callable[..., Any], tmp_path: Path):
    file = tmp_path / "train.py"
    file.write_text(PROGRAM, encoding="utf-8")
    operands = explained(PROGRAM, file, 1).facts.failure.operands
    weight = next(operand for operand in operands if str(operand.device) == "cpu")
    assert weight.name == "criterion.weight"
    assert weight.provenance
