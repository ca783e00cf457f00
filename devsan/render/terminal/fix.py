"""What ``devsan fix`` found, for a terminal: the failure as ``devsan run`` reports it, the fix, the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from devsan.diagnostics.codec import diagnostic_of
from devsan.render.language import Language, language_for
from devsan.render.terminal.printer import write as write_diagnostic
from devsan.render.terminal.printer import write_lines
from devsan.render.terminal.text import Line

if TYPE_CHECKING:
    from devsan.fix.search import Search, Trial


def write(found: Search, stream: TextIO) -> None:
    """Writes what was found."""
    say = language_for(stream)
    failing = found.failing or found.first
    if failing is not None:
        for finding in failing.findings[:1]:
            write_diagnostic(diagnostic_of(finding), stream, say)
    write_lines(list(_lines(found, say)), stream)


def _lines(found: Search, say: Language) -> Iterator[Line]:
    if not found.verified:
        yield [("not fixed", "error"), (f": {len(found.trials)} changes tried", "")]
        return
    yield from _changes(found.verified[0], "verified: ", say)
    if found.patch is not None:
        yield from _changes(found.patch, "verified, for the library's authors: ", say)


def _changes(trial: Trial, head: str, say: Language) -> Iterator[Line]:
    for change in trial.changes:
        yield [(head, "help"), (say.text(change.text), "")]
        for edit in change.edits:
            yield [("   --> ", "frame"), (f"{edit.place.file}:{edit.place.line}", "")]
            for sign, style, text in (("-", "removed", edit.before), ("+", "added", edit.after)):
                for line in text.splitlines():
                    yield [(f"  {sign} {line}", style)]
