"""The edits of a finding, made in the text of a program."""

from __future__ import annotations

from typing import Any


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
