"""What the doctor found, for machines: JSON, and a run's document, of which SARIF and annotations are made.

A finding has the form that it has in a run (docs/reference/run.schema.json); what only runs know of it is empty.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import Any

from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.as_report import report_of
from devsan.doctor.facts import Facts
from devsan.doctor.launch import LaunchFacts
from devsan.render.language import Language
from devsan.run_files.document import id_of, without_failure

Plain = dict[str, Any]

VERSION = 2


def document(
    facts: Facts, launch: LaunchFacts, findings: Sequence[Diagnostic], notes: Sequence[str], say: Language
) -> Plain:  # fmt: skip
    """Returns all of it, JSON-able: ``{"format": "devsan-doctor", "version": 2, ...}``."""
    told = asdict(replace(facts, installed=None))  # whole packages, which are no fact of the machine
    del told["installed"]
    return {
        "format": "devsan-doctor",
        "version": VERSION,
        "facts": told,
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
    shown = report_of(finding)
    sites = tuple(replace(site, note=say.text(site.note)) for site in shown.sites)
    fixes = tuple(replace(fix, text=say.text(fix.text)) for fix in finding.fixes)
    evidence = tuple(say.text(each) for each in finding.evidence)
    said = replace(shown, title=say.text(finding.title), sites=sites, fixes=fixes, evidence=evidence, notes=())
    return {**without_failure(said), "id": id_of(shown), "count": 1}


def written(value: Mapping[str, Any]) -> str:
    """Returns ``value`` as JSON, whatever numbers a configuration held."""
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
