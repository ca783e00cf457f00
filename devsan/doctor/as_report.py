"""A finding of the doctor as a report: printed, recorded and left to a job as failures are."""

from __future__ import annotations

import linecache

from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import message
from devsan.report.facts import Cause, Fix, Label, Report, Site
from devsan.report.source import whole_path

_MORE = 3  # further places that are shown


def report_of(finding: Diagnostic) -> Report:
    """Returns the report that says what ``finding`` says. It quotes nobody: nothing has failed."""
    sites = [*map(_site, finding.sites), *(_site(place, message("see also")) for place in finding.see_also[:_MORE])]
    if not sites and finding.subject:
        sites = [Site(finding.subject, 0, path=f"<{finding.subject}>")]
    fixes = [Fix(fix.text, fix.confidence) for fix in finding.fixes]
    cause = Cause(finding.code, fix=fixes[0], others=tuple(fixes[1:]))
    return Report(
        finding.title, "", tuple(sites), notes=finding.evidence, cause=cause, speaker="devsan",
        severity=finding.severity,
    )  # fmt: skip


def _site(place: Place, note: str = "") -> Site:
    line = linecache.getline(place.file, place.line).rstrip("\n") if place.line else ""
    if "\x1b" in line:  # a file that nobody has vouched for may not write to the terminal
        line = ""
    end = place.end_column if place.end_line == place.line else len(line) + 1
    labels = (Label(place.line, place.column - 1, max(end - 1, place.column), offending=True),) if place.column else ()
    return Site(
        place.file, place.line, place.column or None, {place.line: line} if line else {}, labels, note,
        whole_path(place.file),
    )  # fmt: skip
