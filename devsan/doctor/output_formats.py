"""The findings and facts for machines: JSON of the doctor's own, and SARIF 2.1.0."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from devsan.diagnostics.codes import find_code, name_of
from devsan.doctor.facts import Facts
from devsan.doctor.findings import Finding
from devsan.doctor.launch import LaunchFacts
from devsan.report.language import Language

Plain = dict[str, Any]

VERSION = 1
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RANKS = {"certain": 90.0, "likely": 70.0, "possible": 30.0}


def document(
    facts: Facts, launch: LaunchFacts, findings: Sequence[Finding], notes: Sequence[str], say: Language
) -> Plain:  # fmt: skip
    """Returns all of it, JSON-able: ``{"format": "devsan-doctor", "version": 1, ...}``."""
    return {
        "format": "devsan-doctor",
        "version": VERSION,
        "facts": asdict(facts),
        "launch": {**asdict(launch), "options": dict(launch.options), "environment": dict(launch.environment)},
        "findings": [{"name": name_of(finding.code), **_said(asdict(finding), say)} for finding in findings],
        "notes": list(notes),
    }


def sarif(document: Mapping[str, Any], directory: str) -> Plain:
    """Returns what `document` made as a SARIF log with one run."""
    rules: dict[str, Plain] = {}
    results = []
    for finding in document["findings"]:
        code = finding["code"]
        rules.setdefault(code, _rule(code, finding["name"]))
        lines = [finding["title"], *finding["evidence"], f"help: {finding['fix']} ({finding['confidence']})"]
        result: Plain = {
            "ruleId": code, "ruleIndex": list(rules).index(code), "level": finding["severity"],
            "rank": _RANKS[finding["confidence"]], "message": {"text": "\n".join(lines)},
        }  # fmt: skip
        if finding["place"] is not None:
            result["locations"] = [{"physicalLocation": _location(finding["place"], directory)}]
        elif finding["subject"]:
            result["locations"] = [{"logicalLocations": [{"fullyQualifiedName": finding["subject"]}]}]
        sites = [{"id": number, "physicalLocation": _location(site, directory)}
                 for number, site in enumerate(finding["sites"])]  # fmt: skip
        if sites:
            result["relatedLocations"] = sites
        results.append(result)
    driver: Plain = {"name": "DevSan", "rules": list(rules.values())}
    version = document["facts"]["packages"].get("devsan")
    if version:
        driver["version"] = version
    root = pathlib.Path(directory or "/").as_uri() + "/"
    return {
        "$schema": _SCHEMA, "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints",
                  "originalUriBaseIds": {"%SRCROOT%": {"uri": root}}, "results": results}],
    }  # fmt: skip


def written(value: Mapping[str, Any]) -> str:
    """Returns ``value`` as JSON, whatever numbers a configuration held."""
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"


def _said(finding: Plain, say: Language) -> Plain:
    for name in ("title", "fix"):
        finding[name] = say.text(finding[name])
    for name in ("evidence", "others"):
        finding[name] = [say.text(each) for each in finding[name]]
    return finding


def _rule(code: str, name: str) -> Plain:
    made: Plain = {"id": code, "name": name, "defaultConfiguration": {"level": "warning"}}
    known = find_code(code)
    if known is None:
        return made
    page = known.page()
    return {**made, "shortDescription": {"text": known.summary["en"]}, "help": {"text": page, "markdown": page}}


def _location(place: Mapping[str, Any], directory: str) -> Plain:
    whole = os.path.abspath(os.path.join(directory, place["file"]))
    inside = os.path.relpath(whole, directory) if directory else whole
    artifact: Plain = (
        {"uri": quote(inside), "uriBaseId": "%SRCROOT%"} if not inside.startswith("..") and not os.path.isabs(inside)
        else {"uri": pathlib.Path(whole).as_uri()}
    )  # fmt: skip
    made: Plain = {"artifactLocation": artifact}
    if place["line"]:
        names = {"line": "startLine", "column": "startColumn", "end_line": "endLine", "end_column": "endColumn"}
        made["region"] = {put: place[name] for name, put in names.items() if place[name]}
    return made
