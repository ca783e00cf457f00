"""The edits that a finding proposes, applied to the text of a case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def edits_of(finding: Any, case: Path) -> Iterator[Any]:
    """Yields the edits of ``finding`` that change ``case``."""
    for fix in finding.fixes:
        if fix.edit is not None and Path(fix.edit.file) == case:
            yield fix.edit


def applied(text: str, edit: Any) -> str:
    """Returns ``text`` with the lines of ``edit.before`` at ``edit.line`` replaced; the indentation is kept."""
    lines = text.split("\n")
    count = edit.before.count("\n") + 1
    first = lines[edit.line - 1]
    indent = first[: len(first) - len(first.lstrip())]
    found = "\n".join(lines[edit.line - 1 : edit.line - 1 + count]).strip()
    assert edit.before.strip() in found, "expected the text that the edit replaces"
    lines[edit.line - 1 : edit.line - 1 + count] = (indent + found.replace(edit.before.strip(), edit.after)).split("\n")
    return "\n".join(lines)


def same(one: Any, other: Any) -> bool:
    """Returns whether two findings say the same of the same line."""
    lines = [[site.frame.span.line for site in finding.sites] for finding in (one, other)]
    return one.code == other.code and one.title == other.title and lines[0] == lines[1]
