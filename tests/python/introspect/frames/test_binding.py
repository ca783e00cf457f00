"""From a name in a called function to the expression that its caller gave for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devsan import core

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


DECORATED = """
import torch

def logged(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

class Bank:
    def __init__(self):
        self.sums = torch.zeros(4, 16, device="cuda:0")

    @{decorator}
    def update(self, features, labels):
        self.sums.index_add_(0, labels, features)

def main():
    bank = Bank()
    features = torch.randn(8, 16, device="cuda:0").to("cuda:1")
    labels = torch.randint(0, 4, (8,)).to("cuda:1")
    {call}

main()
"""


@pytest.mark.parametrize("decorator", ["torch.no_grad()", "logged"])
@pytest.mark.parametrize(
    "call",
    [
        "bank.update(features, labels)",
        "Bank.update(bank, features, labels)",
        "bank.update(labels=labels, features=features)",
    ],
)
def test_a_decorated_method_is_given_what_stands_behind_its_object(
    explained: Callable[..., Any], tmp_path: Path, decorator: str, call: str
):
    program = DECORATED.format(decorator=decorator, call=call)
    file = tmp_path / "train.py"
    file.write_text(program, encoding="utf-8")
    for operand in explained(program, file, 2).facts.failure.operands:
        if operand.name != "self.sums":
            made = next(line for line in program.splitlines() if line.lstrip().startswith(f"{operand.name} ="))
            assert operand.provenance[0].stack[0].source in made
            assert [str(each.from_device) for each in operand.provenance if each.kind == core.EventKind.MOVED] in (
                ["cuda:0"],
                ["cpu"],
            )
