"""A finding of the doctor as a report: printed, recorded and left to a job as failures are."""

from __future__ import annotations

import linecache

from devsan.diagnostics.messages import message
from devsan.doctor.findings import Finding, Place
from devsan.report.facts import Cause, Fix, Label, Report, Site
from devsan.report.source import whole_path

_SITES = 4  # that are shown


def report_of(finding: Finding) -> Report:
    """Returns the report that says what ``finding`` says. It quotes nobody: nothing has failed."""
    places = [place for place in (finding.place, *finding.sites) if place is not None][:_SITES]
    sites = [_site(place, message("see also") if number else "") for number, place in enumerate(places)]
    if not sites and finding.subject:
        sites = [Site(finding.subject, 0, path=f"<{finding.subject}>")]
    fixes = [Fix(text, finding.confidence) for text in (finding.fix, *finding.others)]
    cause = Cause(finding.code, fix=fixes[0], others=tuple(fixes[1:]))
    return Report(
        finding.title, "", tuple(sites), notes=finding.evidence, cause=cause, speaker="devsan",
        severity=finding.severity,
    )  # fmt: skip


def _site(place: Place, note: str) -> Site:
    line = linecache.getline(place.file, place.line).rstrip("\n") if place.line else ""
    if "\x1b" in line:  # a file that nobody has vouched for may not write to the terminal
        line = ""
    end = place.end_column if place.end_line == place.line else len(line) + 1
    labels = (Label(place.line, place.column - 1, max(end - 1, place.column), offending=True),) if place.column else ()
    return Site(
        place.file, place.line, place.column or None, {place.line: line} if line else {}, labels, note,
        whole_path(place.file),
    )  # fmt: skip
