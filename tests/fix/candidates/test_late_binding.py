"""What a loop changes is bound where a function is made."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from devsan.fix.candidates.late_binding import _bound, _late
from devsan.fix.change import texts
from devsan.fix.source import Source

Fixed = Callable[..., list[str]]

PROGRAM = """
import torch

stages, hops = [], []
for number in range(2):
    device = f"cuda:{{number}}"
    stages.append(torch.nn.Linear(3, 3).to(device))
    {made}
x = torch.ones(2, 3)
for hop, stage in zip(hops, stages):
    x = stage(hop(x))
x.sum().backward()
print(stages[0].weight.grad.sum().item())
"""


@pytest.mark.parametrize(
    ("made", "line"),
    [
        ("hops.append(lambda x: x.to(device))", "hops.append(lambda x, device=device: x.to(device))"),
        (
            "def hop(x, *rest):\n        return x.to(device)\n    hops.append(hop)",
            "def hop(x, *rest, device=device):",
        ),
    ],
)
def test_each_function_keeps_its_device(fixed: Fixed, made: str, line: str):
    assert fixed(PROGRAM.format(made=made), gpus=2) == [line]


@pytest.mark.parametrize(
    ("text", "late", "after"),
    [
        ("for a in b:\n    f = lambda: a\n", {"a"}, "for a in b:\n    f = lambda a=a: a\n"),
        (
            "for a in b:\n    def f(x, y=(1, 2)) -> int:\n        return a\n",
            {"a"},
            "for a in b:\n    def f(x, y=(1, 2), a=a) -> int:\n        return a\n",
        ),
        ("f = [lambda x: x + a for a in b]\n", {"a"}, "f = [lambda x, a=a: x + a for a in b]\n"),
        ("for a in b:\n    f = lambda a: a\n", set(), ""),
        ("def g(a):\n    for _ in a:\n        yield lambda: a\n", set(), ""),
    ],
)
def test_names_that_a_loop_changes_are_late(tmp_path, text: str, late: set[str], after: str):
    path = tmp_path / "program.py"
    path.write_text(text, encoding="utf-8")
    source = Source(str(path), text, ast.parse(text))
    functions = [each for each in ast.walk(source.tree) if isinstance(each, (ast.Lambda, ast.FunctionDef))]
    function = functions[-1]
    assert _late(source, function) == late
    if after:
        assert texts([_bound(source, function, "a")]) == {str(path): after}
