"""Lines that a fix takes away and those that come in their place, with what changes within them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.render.edit_lines import edit_lines
from devsan.render.unified_diff import Replaced, changed_part


@dataclass(frozen=True)
class DiffRow:
    """A line of a fix: ``sign`` is "-" or "+"; its text in three parts, of which the middle one changes."""

    sign: str
    line: int
    head: str
    changed: str = ""
    tail: str = ""


def diff_of_edit(edit: Mapping[str, Any]) -> list[DiffRow]:
    """Returns the lines of an edit of a finding that change; all of them where their number changes."""
    return _rows(*edit_lines(str(edit["before"]), str(edit["after"])), int(edit["line"]), int(edit["line"]))


def diff_of_replaced(found: Replaced) -> list[DiffRow]:
    """Returns the lines of a unified diff that change, without the indentation that all of them have."""
    lines = (*found.before, *found.after)
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    before, after = ([line[margin:] for line in side] for side in (found.before, found.after))
    return _rows(before, after, found.line, found.new_line)


def _rows(before: Sequence[str], after: Sequence[str], line: int, new_line: int) -> list[DiffRow]:
    if len(before) != len(after):
        old = [DiffRow("-", line + at, text) for at, text in enumerate(before)]
        return [*old, *(DiffRow("+", new_line + at, text) for at, text in enumerate(after))]
    pairs = [(at, *pair) for at, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    parts = [(at, old, new, *changed_part(old, new)) for at, old, new in pairs]
    return [
        *(_row("-", line + at, old, changed) for at, old, _, changed, _ in parts),
        *(_row("+", new_line + at, new, changed) for at, _, new, _, changed in parts),
    ]


def _row(sign: str, line: int, text: str, changed: slice) -> DiffRow:
    return DiffRow(sign, line, text[: changed.start], text[changed], text[changed.stop :])
