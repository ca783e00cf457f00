"""Edits of a source keep the indentation of what they move."""

from __future__ import annotations

import ast
from pathlib import Path

from devsan.fix.change import texts
from devsan.fix.failure import source_of

BEFORE = """
def main():
    average = Average(
        model.parameters(),
        decay=0.9,
    )
    model = prepare(model)
"""
AFTER = """
def main():
    model = prepare(model)
    average = Average(
        model.parameters(),
        decay=0.9,
    )
"""


def test_a_statement_of_several_lines_keeps_its_indentation(tmp_path: Path):
    file = tmp_path / "train.py"
    file.write_text(BEFORE, encoding="utf-8")
    source = source_of(str(file))
    assert source is not None
    function = source.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    first, second = function.body
    edits = (source.insert_after(second, source.lines_of(first)), source.remove(first))
    assert texts(edits) == {str(file): AFTER}
