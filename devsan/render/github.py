"""Annotations for GitHub Actions: workflow commands, one line a finding.

The escapes are those of ``packages/core/src/command.ts`` in actions/toolkit: the value of a property ends at a comma
or a colon, a message at the end of the line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from devsan.render.in_words import heading, is_file, main_site, message, region, relative
from devsan.render.unified_diff import Replaced, replaced
from devsan.run_files.document import findings_of
from devsan.run_files.jobs import launches_of

if TYPE_CHECKING:
    from devsan.diagnostics.diagnostic import Diagnostic
    from devsan.fix.result import FixResult, TriedFix
    from devsan.introspect.explain import Explanation

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(runs: Sequence[Mapping[str, Any]]) -> str:
    """Returns a workflow command for each finding of ``runs``; a finding that several ranks share, once."""
    seen: set[str] = set()
    lines = []
    for launch in launches_of(runs):
        for finding in launch.findings:
            if finding["id"] not in seen:
                seen.add(finding["id"])
                lines.append(command(finding, launch.runs[0]["process"]["directory"]))
    return "".join(lines)


def command(finding: Mapping[str, Any], directory: str) -> str:
    """Returns the line about one finding.

    Args:
        finding: of a run's document.
        directory: the working directory of the run. In a job, paths are shown from GITHUB_WORKSPACE on.
    """
    home = os.environ.get("GITHUB_WORKSPACE") or directory
    properties: dict[str, object] = {}
    site = main_site(finding, home)[0] if finding["sites"] else None
    if site is not None and is_file(site["path"]):
        line, column, end_line, end_column = region(site)
        properties = {"file": relative(site["path"], home), "line": line, "endLine": end_line}
        if column:
            properties["col"] = column
        if end_column:
            properties["endColumn"] = end_column - 1  # of the last character
    properties["title"] = heading(finding)
    return _written(_LEVELS[finding["severity"]], properties, message(finding))


def render_fix(result: FixResult) -> str:
    """Returns a command for the failure, and one for each place that the verified fix changes.

    The latter hold a suggestion block, which GitHub offers to commit where the text is posted as a review comment.
    """
    best = result.best
    lines = []
    if result.finding is not None:
        told = [{"text": "; ".join(best.texts), "confidence": "verified"}] if best is not None else []
        lines.append(command({**result.finding, "fixes": told or result.finding["fixes"]}, result.directory))
    if best is not None:
        changes = list(replaced(best.diff))
        lines += [_suggested(best, change, number, len(changes)) for number, change in enumerate(changes, start=1)]
    elif result.status == "not fixed":
        tried = sum(fix.status != "offered" for fix in result.fixes)
        lines.append(_written("notice", {"title": "not fixed"}, f"{tried} changes were tried, and none is verified"))
    return "".join(lines)


def _suggested(fix: TriedFix, change: Replaced, number: int, count: int) -> str:
    first, before, after = change.line, change.before, change.after
    if not before and change.anchor is not None:  # a suggestion replaces lines: the one in front of what is new stays
        first, before, after = first - 1, (change.anchor,), (change.anchor, *after)
    properties: dict[str, object] = {
        "file": change.file, "line": first, "endLine": first + max(len(before), 1) - 1,
        "title": "verified fix" + (f" ({number} of {count})" if count > 1 else ""),
    }  # fmt: skip
    said = [*fix.texts, *fix.evidence] if number == 1 else [*fix.texts]
    fence = "~~~" if any("```" in line for line in after) else "```"
    return _written("notice", properties, "\n".join([*said, "", f"{fence}suggestion", *after, fence]))


def _written(level: str, properties: Mapping[str, object], text: str) -> str:
    written = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{level} {written}::{_data(text)}\n"


def write(report: Diagnostic, explanation: Explanation | None, stream: TextIO) -> None:
    """Writes the command about a failure that has just happened."""
    for finding in findings_of(report, explanation, 0.0):
        stream.write(command(finding, os.getcwd()))
    stream.flush()


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
