"""Edits of the text of a file: put in, shown as a diff, written in one step."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from devsan.diagnostics.diagnostic import Edit


def spliced(text: str, offsets: Sequence[int], edits: Iterable[Edit]) -> str | None:
    """Returns ``text`` with edits put in; None where they do not fit it. Of two that overlap the first counts.

    Args:
        text: of the file.
        offsets: where its lines begin.
        edits: each with the text that it replaces.
    """
    spans: list[tuple[int, int, str]] = []
    for edit in edits:
        place = edit.place
        if not 0 < place.line <= len(offsets) or not 0 < place.end_line <= len(offsets):
            return None
        start, end = offsets[place.line - 1] + place.column - 1, offsets[place.end_line - 1] + place.end_column - 1
        if text[start:end] != edit.before:
            return None
        if all(end <= other_start or start >= other_end for other_start, other_end, _ in spans):
            spans.append((start, end, edit.after))
    for start, end, after in sorted(spans, reverse=True):
        text = text[:start] + after + text[end:]
    return text


def unified_diff(file: str, before: str, after: str) -> str:
    """Returns the change of a file as a unified diff."""
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), file, file)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def replace_text(path: Path, text: str, encoding: str) -> None:
    """Writes a file in one step, with the mode that it has.

    Raises:
        OSError: it cannot be written; the file is then as it was.
    """
    path = path.resolve()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding=encoding, newline="") as file:
            file.write(text)
        os.chmod(temporary, path.stat().st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
