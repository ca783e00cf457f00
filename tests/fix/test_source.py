"""A source is found where a run names it, and its edits keep the indentation of what they move."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from devsan.fix.change import texts
from devsan.fix.source import source_of

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


def test_a_call_of_a_method_on_a_later_line_is_found_where_python_tells_it(tmp_path: Path):
    file = tmp_path / "train.py"
    file.write_text(
        "def place():\n    return (\n        Net(\n            3,\n        ).to(0)\n    )\n", encoding="utf-8"
    )
    code = compile(file.read_text(encoding="utf-8"), str(file), "exec").co_consts[0]
    positions = (place for place in code.co_positions() if place[1] == 5) if sys.version_info >= (3, 11) else ()
    spans = {(line, (begin or 0) + 1, end_line, (end or 0) + 1) for line, end_line, begin, end in positions}
    source = source_of(str(file))
    assert source is not None
    keys = ("line", "column", "end_line", "end_column")
    found = {
        source.segment(node) for each in spans if (node := source.expression_at(dict(zip(keys, each, strict=True))))
    }
    if sys.version_info >= (3, 11):  # Python tells columns
        assert "Net(\n            3,\n        ).to(0)" in found
