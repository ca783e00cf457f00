"""Every sentence about fixes has its Chinese."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from devsan.diagnostics.catalog import chinese

PACKAGE = Path(__file__).parents[2] / "devsan"
FILES = [*sorted((PACKAGE / "fix").rglob("*.py")), *sorted((PACKAGE / "numbers").glob("*.py")),
         *sorted((PACKAGE / "sweep").glob("*.py")), *sorted((PACKAGE / "cli").glob("*progress.py")),
         *(PACKAGE / "render" / name for name in ("terminal/fix.py", "terminal/sweep.py", "fixes.py"))]  # fmt: skip
CALLS = ("message", "plural", "say", "_say")


def templates(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in CALLS and isinstance(node.args[0].value, str):
                yield node.args[0].value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_every_template_is_in_a_catalog(path: Path) -> None:
    known = chinese()
    assert [each for each in templates(path) if each not in known.templates and each not in known.phrases] == []


def test_there_are_templates() -> None:
    assert sum(len(list(templates(path))) for path in FILES) > 60
