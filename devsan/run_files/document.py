"""From what is known in a running program to the findings of a run's document (docs/reference/run-file.md).

Everything here returns plain dictionaries, lists, texts and numbers: the core's facts are gone when a file is read.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from devsan.diagnosis.cause import with_cause
from devsan.diagnostics.codec import plain_of
from devsan.diagnostics.codes import name_of
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.introspect.explain import Explanation
from devsan.run_files.places import Plain
from devsan.run_files.records import failure_of, finding_of


def findings_of(report: Diagnostic, explanation: Explanation | None, time: float) -> list[Plain]:
    """Returns what was found at one failure: the cause first, then what was noticed beside it.

    Args:
        report: what the terminal shows.
        explanation: the diagnosis, if there is one.
        time: seconds since the start of the run.
    """
    if explanation is None or not explanation.findings:
        return [{**without_failure(report), "time": time}]
    if not explanation.documents:
        failure = failure_of(explanation.facts.failure)
        explanation.documents = [{**failure, **finding_of(each), "also_at": []} for each in explanation.findings]
    beside = replace(report, operands=(), placed=(), notes=())
    found = []
    for number, (finding, facts) in enumerate(zip(explanation.findings, explanation.documents, strict=True)):
        said = report if number == 0 else with_cause(beside, finding)
        found.append({**facts, **plain_of(said), "printed": number == 0, "time": time})
    return found


NOTHING_FAILED: Plain = {
    "cause": "", "printed": True, "time": 0.0, "op": "", "kind": "none", "phase": "none", "also_at": [], "stack": [],
    "operands": [], "involved": [], "memory": None,
}  # fmt: skip
"""The facts of a failure in a finding that is about none."""


def without_failure(report: Diagnostic) -> Plain:
    """Returns a diagnostic as a finding that is about no failure: of the doctor, of a live model, of words alone."""
    name = {"id": id_of(report), "name": name_of(report.code), "title": report.title}
    return {**NOTHING_FAILED, **name, **plain_of(report)}


def id_of(report: Diagnostic) -> str:
    """Returns what stays of a diagnostic from run to run, in any language: its title and the text of its line."""
    place = report.place
    line = place.lines.get(place.line, "").strip() if place is not None else ""
    words = [report.title, place.file if place is not None else "", line]
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()[:12]
