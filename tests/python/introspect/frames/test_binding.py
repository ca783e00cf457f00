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
    operands = explained(program, file, 2).facts.failure.operands
    assert {operand.name for operand in operands} >= {"self.sums", "features"}
    for operand in operands:
        if operand.name != "self.sums":
            made = next(line for line in program.splitlines() if line.lstrip().startswith(f"{operand.name} ="))
            placed, moved_from = operand.provenance[0].stack[0].source, {"features": "cuda:0", "labels": "cpu"}
            assert placed and placed in made
            moves = [each for each in operand.provenance if each.kind == core.EventKind.MOVED]
            assert [str(each.from_device) for each in moves] == [moved_from[operand.name]]


def test_the_last_of_several_arguments_is_not_the_first(explained: Callable[..., Any], tmp_path: Path):
    program = """
import torch

def joined(*parts):
    return parts[0] + parts[-1]

def main():
    ours = torch.ones(2, device="cuda:0")
    theirs = torch.ones(2, device="cuda:1")
    return joined(ours, theirs)

main()
"""
    file = tmp_path / "train.py"
    file.write_text(program, encoding="utf-8")
    operands = explained(program, file, 2).facts.failure.operands
    places = {str(operand.device): operand.provenance[0].stack[0].source for operand in operands}
    assert places["cuda:0"].startswith("ours =") and places["cuda:1"].startswith("theirs =")


def test_a_decorated_call_of_an_object_is_given_what_stands_behind_it(explained: Callable[..., Any], tmp_path: Path):
    program = """
import torch

class Pipe:
    @torch.no_grad()
    def __call__(self, latents, prompt):
        return latents + prompt

def main():
    pipe = Pipe()
    latents = torch.ones(2, device="cuda:0").to("cuda:1")
    prompt = torch.ones(2).to("cuda:0")
    return pipe(latents, prompt)

main()
"""
    file = tmp_path / "train.py"
    file.write_text(program, encoding="utf-8")
    operands = explained(program, file, 2).facts.failure.operands
    places = {operand.name: operand.provenance[0].stack[0].span.line for operand in operands}
    assert places == {"latents": 11, "prompt": 12}
