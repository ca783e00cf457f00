"""How the files of one report are written on a terminal: whole where they are named first, then without their folders.

 --> transformers/models/llama/modeling_llama.py:412:8
 --> .../modeling_llama.py:401:12

A file stays whole where another one of its name is in the report, and where nothing is saved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from devsan.diagnostics.diagnostic import Diagnostic, Place

_DROPPED = "..."
_IN_TEXT = re.compile(r"(?<![\w/.:@~+-])(?P<file>/?(?:[\w.@~+-]+/)+[\w.@~+-]+\.py)(?=:\d)")  # with the number of a line


class Paths:
    """The files of a report, in the order in which they are asked for.

    Args:
        report: what is shown.
    """

    def __init__(self, report: Diagnostic) -> None:
        files: dict[str, set[str]] = {}
        for file in _files(report):
            files.setdefault(file.rpartition("/")[2], set()).add(file)
        self._alone = {min(each) for each in files.values() if len(each) == 1}
        self._told: set[str] = set()

    def place(self, place: Place) -> str:
        """Returns ``place`` as it is written where it comes next."""
        return str(replace(place, file=self._file(place.file)))

    def text(self, text: str) -> str:
        """Returns a sentence with the places in it as they are written where it comes next."""
        return _IN_TEXT.sub(lambda match: self._file(match["file"]), text)

    def _file(self, file: str) -> str:
        folder, _, name = file.rpartition("/")
        if file in self._told and file in self._alone and len(folder) > len(_DROPPED):
            return f"{_DROPPED}/{name}"
        self._told.add(file)
        return file


def _files(report: Diagnostic) -> Iterator[str]:
    edits = [edit for fix in report.fixes for edit in fix.edits]
    for place in (*report.sites, *(each.place for each in report.placed), *(edit.place for edit in edits)):
        if place is not None:
            yield place.file
    named = [each.qualified_name or "" for each in (*report.operands, *report.placed)]
    for text in (*report.notes, *named, *report.evidence, *(fix.text for fix in report.fixes)):
        yield from (match["file"] for match in _IN_TEXT.finditer(text))
