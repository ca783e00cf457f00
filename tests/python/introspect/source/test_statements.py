"""How the text of one expression says the device."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from devsan.introspect.source.statements import Said, assigned_before, said_by
from devsan.introspect.source.syntax import function_around


def said(text: str) -> Said:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    return said_by(call, text)


@pytest.mark.parametrize(
    ("text", "device", "factory", "peer"),
    [
        ("torch.zeros(3)", None, True, False),
        ('torch.zeros(3, device=f"cuda:{hparams.device}")', 'f"cuda:{hparams.device}"', True, False),
        ("torch.zeros_like(x)", "x.device", True, True),
        ("x.new_zeros(3)", "x.device", True, True),
        ("x.new_zeros(3, device='cpu')", "'cpu'", True, False),
        ("x.to(y.device)", "y.device", False, False),
        ("x.to(torch.float16)", None, False, False),
        ("x.to(1)", "1", False, False),
        ("x.cuda()", '"cuda"', False, False),
        ("x.cuda(rank)", "rank", False, False),
        ("x.cpu()", '"cpu"', False, False),
        ("torch.Generator('cuda')", "'cuda'", True, False),
        ("f(x)", None, False, False),
    ],
)
def test_device(text: str, device: str | None, factory: bool, peer: bool) -> None:
    found = said(text)
    assert (found.device, found.is_factory, found.peer) == (device, factory, peer)


def test_lines_and_columns_are_those_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("class A:\n    def f(self):\n        x = g(1)\n        return x\n\nx = h()\nprint(x)\n")
    value = assigned_before(str(file), 4, "x")
    assert value is not None
    assert (value.lineno, value.col_offset, ast.unparse(value)) == (3, 12, "g(1)")
    value = assigned_before(str(file), 7, "x")
    assert value is not None and ast.unparse(value) == "h()"
    assert isinstance(function_around(str(file), 3), ast.Module)
