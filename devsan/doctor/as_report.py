"""A finding of the doctor as a report: printed, recorded and left to a job as failures are."""

from __future__ import annotations

import linecache
from dataclasses import replace

from devsan.diagnosis.source import whole_path
from devsan.diagnostics.diagnostic import Diagnostic, Label, Place
from devsan.diagnostics.messages import message

_MORE = 3  # further places that are shown


def report_of(finding: Diagnostic) -> Diagnostic:
    """Returns ``finding`` as it is shown: its places with their source, and what it rests on below them."""
    sites = [*map(_shown, finding.sites), *(_shown(place, message("see also")) for place in finding.see_also[:_MORE])]
    if not sites and finding.subject:
        sites = [Place(finding.subject, path=f"<{finding.subject}>")]
    return replace(finding, sites=tuple(sites), see_also=(), notes=finding.evidence, evidence=())


def _shown(place: Place, note: str = "") -> Place:
    line = linecache.getline(place.file, place.line).rstrip("\n") if place.line else ""
    if "\x1b" in line:  # a file that nobody has vouched for may not write to the terminal
        line = ""
    end = place.end_column if place.end_line == place.line else len(line) + 1
    labels = (Label(place.line, place.column - 1, max(end - 1, place.column), offending=True),) if place.column else ()
    return replace(
        place, lines={place.line: line} if line else {}, labels=labels, note=note, path=whole_path(place.file)
    )
