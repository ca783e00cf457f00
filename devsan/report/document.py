"""From what is known in a running program to the pieces of a run's document (docs/reference/run-file.md).

Everything here returns plain dictionaries, lists, texts and numbers: the core's facts are gone when a file is read.
"""

from __future__ import annotations

import hashlib

from devsan.introspect.explain import Explanation
from devsan.report.codec import to_plain
from devsan.report.facts import Report, Site
from devsan.report.places import Plain
from devsan.report.records import failure_of, finding_of


def findings_of(report: Report, explanation: Explanation | None, time: float) -> list[Plain]:
    """Returns what was found at one failure: the cause first, then what was noticed beside it.

    Args:
        report: what the terminal shows.
        explanation: the diagnosis, if there is one.
        time: seconds since the start of the run.
    """
    sites = [site_of(site) for site in report.sites]
    shown = to_plain(report)
    del shown["sites"]  # they are in the finding
    if explanation is None or not explanation.findings:
        return [{**_unexplained(report, sites, time), "report": shown}]
    if not explanation.documents:
        failure = failure_of(explanation.facts.failure)
        explanation.documents = [{**finding_of(each), **failure, "also_at": []} for each in explanation.findings]
    return [
        {**found, "headline": report.title, "sites": sites, "time": time, "report": {} if number else shown}
        for number, found in enumerate(explanation.documents)
    ]


def _unexplained(report: Report, sites: list[Plain], time: float) -> Plain:
    first = report.sites[0] if report.sites else None
    line = first.lines.get(first.line, "").strip() if first is not None else ""
    digest = hashlib.sha256("\0".join([report.title, first.file if first else "", line]).encode("utf-8", "replace"))
    code = report.cause.code if report.cause is not None else None
    return {
        "id": digest.hexdigest()[:12], "cause": "", "code": code, "name": "", "title": report.title,
        "headline": report.title, "severity": "error", "confidence": "possible", "time": time, "op": "",
        "kind": "none", "phase": "none", "sentence": report.sentence, "sites": sites, "also_at": [], "stack": [],
        "operands": [], "involved": [], "evidence": [], "fixes": [], "naive_fix": "", "candidates": [],
    }  # fmt: skip


def site_of(site: Site) -> Plain:
    """Returns a place of the report; columns count from 1 here."""
    return {
        "file": site.file, "path": site.path or site.file, "line": site.line, "column": site.column,
        "note": site.note, "lines": [{"line": number, "text": text} for number, text in site.lines.items()],
        "labels": [
            {"line": label.line, "column": label.start + 1, "end_column": label.end + 1, "texts": list(label.texts),
             "offending": label.offending}
            for label in site.labels
        ],
    }  # fmt: skip
