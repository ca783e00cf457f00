"""Edits that name something which is there at their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from devsan.introspect.frames.edits import can_run


@pytest.mark.parametrize(
    ("line", "name", "runs"),
    [
        (3, "x", True),  # an argument
        (3, "later", False),
        (6, "later", True),
        (3, "table", True),  # of the module: bound when f is called
        (8, "late", False),
        (8, "nobody", False),
    ],
)
def test_only_a_change_that_can_run_is_shown(line: int, name: str, runs: bool, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "table = 0\ndef f(x):\n    y = zeros(3)\n    for later in x:\n        y += later\n    z = zeros(3)\n\n"
        "w = zeros(3)\nlate = 1\n",
        encoding="utf-8",
    )
    assert can_run(str(file), line, "zeros(3)", f"zeros(3, device={name}.device)") is runs
