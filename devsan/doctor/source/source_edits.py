"""The edits of findings, shown as a diff or applied."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterable
from pathlib import Path

from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.doctor.source.check_result import CheckResult
from devsan.doctor.source.source_file import SourceFile, Unreadable, read_source
from devsan.doctor.text_edits import replace_text, spliced, unified_diff


def diff_of(findings: Iterable[Diagnostic], unsafe: bool) -> str:
    """Returns the edits as a unified diff; "" where there are none."""
    texts: list[str] = []
    for name, edits in _by_file(findings, unsafe).items():
        try:
            source = read_source(Path(name))
        except Unreadable:
            continue
        after = edited(source, edits)
        if after is not None:
            texts.append(unified_diff(name, source.text, after))
    return "".join(texts)


def apply(result: CheckResult, unsafe: bool) -> list[Path]:
    """Applies the edits, file by file, and returns the files that were written."""
    written = []
    for name, edits in _by_file(result.findings, unsafe).items():
        path = Path(name)
        try:
            source = read_source(path)
        except Unreadable as error:
            result.notes.append(str(error))
            continue
        after = edited(source, edits)
        if after is None:
            result.notes.append(f"{name}: expected the file as it was checked, got another text; it was left as it is")
        elif after != source.text:
            _write(path, after)
            written.append(path)
    return written


def edited(source: SourceFile, edits: Iterable[Edit]) -> str | None:
    """Returns the text of a file with edits applied; None where they do not fit it. Of two that overlap one counts."""
    text = source.text
    offsets = [0]
    for line in text.splitlines(keepends=True) if "\f" not in text else _lines(source):
        offsets.append(offsets[-1] + len(line))
    after = spliced(text, offsets, edits)
    if after is None:
        return None
    try:
        ast.parse(after)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return after


def _lines(source: SourceFile) -> list[str]:
    lines = []
    number = 1
    while source.line(number) or source.ending(number):
        lines.append(source.line(number) + source.ending(number))
        number += 1
    return lines


def _by_file(findings: Iterable[Diagnostic], unsafe: bool) -> dict[str, list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for finding in findings:
        for edit in (each for fix in finding.fixes for each in fix.edits):
            if (edit.safe or unsafe) and edit not in found.setdefault(edit.place.file, []):
                found[edit.place.file].append(edit)
    return {name: edits for name, edits in found.items() if edits}


def _write(path: Path, text: str) -> None:
    """Writes a file in one step, with the mode and the encoding that it has."""
    with path.open("rb") as file:
        encoding, _ = tokenize.detect_encoding(file.readline)
    replace_text(path, text, encoding)
