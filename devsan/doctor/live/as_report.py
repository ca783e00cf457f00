"""A finding about live models as a report: for what a rank leaves to its job, and for a run file."""

from __future__ import annotations

import linecache

from devsan.diagnostics.messages import message
from devsan.doctor.findings import Finding, Place
from devsan.report.facts import Cause, Fix, Label, Report, Site
from devsan.report.source import whole_path


def report_of(finding: Finding) -> Report:
    """Returns the report that says what ``finding`` says. It quotes nobody: nothing has failed."""
    places = [place for place in (finding.place, *finding.sites) if place is not None and place.line]
    fixes = [Fix(text, finding.confidence) for text in (finding.fix, *finding.others)]
    cause = Cause(finding.code, fix=fixes[0], evidence=finding.evidence, others=tuple(fixes[1:]))
    sites = tuple(_site(place, "" if number == 0 else message("see also")) for number, place in enumerate(places))
    return Report(finding.title, "", sites, cause=cause, speaker="devsan", severity=finding.severity)


def _site(place: Place, note: str) -> Site:
    line = linecache.getline(place.file, place.line).rstrip("\n")
    end = place.end_column if place.end_line == place.line else len(line) + 1
    labels = (Label(place.line, place.column - 1, max(end - 1, place.column), offending=True),) if place.column else ()
    return Site(
        place.file, place.line, place.column or None, {place.line: line} if line else {}, labels, note,
        whole_path(place.file),
    )  # fmt: skip
