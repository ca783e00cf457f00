"""What the doctor found, for machines: JSON, and a run's document, of which SARIF and annotations are made.

A finding has the form that it has in a run (docs/reference/run.schema.json); what only runs know of it is empty.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from devsan.diagnostics.codes import name_of
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.doctor.as_report import report_of
from devsan.doctor.facts import Facts
from devsan.doctor.launch import LaunchFacts
from devsan.report.document import site_of
from devsan.report.language import Language
from devsan.report.source import whole_path

Plain = dict[str, Any]

VERSION = 2


def document(
    facts: Facts, launch: LaunchFacts, findings: Sequence[Diagnostic], notes: Sequence[str], say: Language
) -> Plain:  # fmt: skip
    """Returns all of it, JSON-able: ``{"format": "devsan-doctor", "version": 2, ...}``."""
    return {
        "format": "devsan-doctor",
        "version": VERSION,
        "facts": asdict(facts),
        "launch": {**asdict(launch), "options": dict(launch.options), "environment": dict(launch.environment)},
        "findings": [plain_of(finding, say) for finding in findings],
        "notes": list(notes),
    }


def run_of(document: Mapping[str, Any], command: Sequence[str]) -> Plain:
    """Returns what ``document`` made as the document of a run: of the doctor's own, which has ended."""
    facts = document["facts"]
    return {
        "process": {
            "directory": facts["system"]["directory"], "devsan": facts["packages"].get("devsan", ""),
            "command": list(command), "pid": os.getpid(), "rank": 0, "world_size": 1,
        },
        "start": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "end": {"time": 0.0, "how": "finished", "exit_code": 0, "exception": None, "signal": None},
        "findings": document["findings"],
    }  # fmt: skip


def plain_of(finding: Diagnostic, say: Language) -> Plain:
    """Returns a finding as runs have it, in the language of ``say``."""
    report = report_of(finding)
    sites = [{**site_of(site), "note": say.text(site.note)} for site in report.sites]
    where = [f"{site.file}:{site.lines.get(site.line, '').strip()}" for site in report.sites[:1]]
    digest = hashlib.sha256("\0".join([finding.code, finding.title, *where]).encode("utf-8", "replace"))
    title = say.text(finding.title)
    return {
        "id": digest.hexdigest()[:12], "cause": "", "code": finding.code, "name": name_of(finding.code),
        "title": title, "headline": title, "severity": finding.severity, "confidence": finding.confidence,
        "time": 0.0, "op": "", "kind": "none", "phase": "none", "sentence": "", "sites": sites, "count": 1,
        "also_at": [], "stack": [], "operands": [], "involved": [],
        "evidence": [say.text(each) for each in finding.evidence],
        "fixes": [
            {"kind": "", "text": say.text(fix.text), "confidence": fix.confidence,
             "edit": _edit_of(fix.edits[0]) if len(fix.edits) == 1 else None,
             "edits": [_edit_of(edit) for edit in fix.edits]}
            for fix in finding.fixes
        ],
        "naive_fix": "", "candidates": [],
    }  # fmt: skip


def written(value: Mapping[str, Any]) -> str:
    """Returns ``value`` as JSON, whatever numbers a configuration held."""
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"


def _edit_of(edit: Edit) -> Plain:
    place = edit.place
    return {
        "file": place.file, "path": whole_path(place.file), "line": place.line, "column": place.column,
        "end_line": place.end_line, "end_column": place.end_column, "before": edit.before, "after": edit.after,
        "applicable": edit.safe,
    }  # fmt: skip
