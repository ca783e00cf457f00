"""A finding of the doctor as a report: printed, recorded and left to a job as failures are."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from devsan.diagnosis.source import whole_path
from devsan.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Place
from devsan.diagnostics.messages import message

_MORE = 3  # further places that are shown


def report_of(finding: Diagnostic) -> Diagnostic:
    """Returns ``finding`` as it is shown: its places with their source, and what it rests on below them."""
    sites = [*map(_shown, finding.sites), *(_shown(place, message("see also")) for place in finding.see_also[:_MORE])]
    if not sites and finding.subject:
        sites = [Place(finding.subject, path=f"<{finding.subject}>")]
    fixes = tuple(_readable(fix, sites) for fix in finding.fixes)
    return replace(finding, sites=tuple(sites), see_also=(), notes=finding.evidence, evidence=(), fixes=fixes)


def _readable(fix: Fix, sites: Sequence[Place]) -> Fix:
    """An edit says nothing without its line: "8" becomes "4". Where no site shows the line, it is part of the edit."""
    shown = {(site.file, line) for site in sites for line in site.lines}
    many = Counter((edit.place.file, edit.place.line) for edit in fix.edits)
    lone = {at for at, count in many.items() if count == 1 and at not in shown}
    edits = [_of_line(edit) if (edit.place.file, edit.place.line) in lone else edit for edit in fix.edits]
    return replace(fix, edits=tuple(edits))


def _of_line(edit: Edit) -> Edit:
    place, line = edit.place, _line_at(edit.place)
    start, end = place.column - 1, place.end_column - 1
    if place.line != place.end_line or "\x1b" in line or start < 0 or line[start:end] != edit.before:
        return edit
    whole = replace(place, column=1, end_column=len(line) + 1)
    return replace(edit, place=whole, before=line, after=line[:start] + edit.after + line[end:])


def _line_at(place: Place) -> str:
    linecache.checkcache(place.file)  # it may have been written, or be that of another folder, since it was read
    return linecache.getline(place.file, place.line).rstrip("\n")


def _shown(place: Place, note: str = "") -> Place:
    line = _line_at(place) if place.line else ""
    if "\x1b" in line:  # a file that nobody has vouched for may not write to the terminal
        line = ""
    end = place.end_column if place.end_line == place.line else len(line) + 1
    labels = (Label(place.line, place.column - 1, max(end - 1, place.column), offending=True),) if place.column else ()
    return replace(
        place, lines={place.line: line} if line else {}, labels=labels, note=note, path=whole_path(place.file)
    )
