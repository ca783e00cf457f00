"""Where an expression was before changes moved it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from devsan.fix.change import Change

Span = tuple[str, int, int, int]
"""Path, line, column and end column of an expression, as frames have them."""

NOWHERE: Span = ("", 0, 0, 0)


def span_before(frame: Mapping[str, Any], changes: Sequence[Change] = ()) -> Span:
    """Returns where the expression of ``frame`` was before ``changes``, each of which saw what the one before left."""
    path, line, column, end = frame["path"], frame["line"], frame["column"], frame["end_column"]
    for change in reversed(changes):
        edits = [edit for edit in change.edits if edit.place.path == path]
        line -= sum(edit.after.count("\n") - edit.before.count("\n") for edit in edits if edit.place.line < line)
        for edit in sorted(edits, key=lambda edit: edit.place.column):
            if edit.place.line == edit.place.end_line == line:
                breaks = "\n" in edit.after
                kept = edit.after.rpartition("\n")[2]
                longer = len(kept) - len(edit.before) - (edit.place.column - 1 if breaks else 0)
                column -= longer if breaks or edit.place.column < column else 0
                end -= longer if breaks or edit.place.column < end else 0
    return (path, line, column, end)
