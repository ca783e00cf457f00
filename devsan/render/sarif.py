"""Runs as SARIF 2.1.0, for GitHub code scanning, IDEs and other viewers (OASIS standard, "sarif-v2.1.0-os").

A rule is a code with its page; a result is a finding, at the program's own line. Who placed each operand stands in
``relatedLocations``; ``fixes`` holds the edits that can be applied as they are.
"""

from __future__ import annotations

import json
import os
import pathlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from devsan.diagnostics.codes import find_code
from devsan.render.in_words import heading, is_file, is_inside, main_site, message, placed, region, relative
from devsan.run_files.jobs import Launch, launches_of

Plain = dict[str, Any]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"
_UNNAMED = "device-failure"
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}
_RANKS = {"certain": 90.0, "likely": 70.0, "possible": 30.0}


def render(runs: Sequence[Mapping[str, Any]]) -> str:
    """Returns one log with a run for each of ``runs``; the ranks of a job are one run."""
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_Log(launch).made() for launch in launches_of(runs)]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


class _Log:
    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._run = launch.runs[0]
        self._directory = str(self._run["process"]["directory"])
        self._rules: dict[str, Plain] = {}

    def made(self) -> Plain:
        results = [self._result(finding) for finding in self._launch.findings]
        process = self._run["process"]
        driver: Plain = {"name": "DevSan", "rules": list(self._rules.values())}
        if process["devsan"]:
            driver["version"] = process["devsan"]
        home = _home_page()
        if home is not None:
            driver["informationUri"] = home
        made = {
            "tool": {"driver": driver}, "columnKind": "unicodeCodePoints",
            "invocations": [self._invocation(run) for run in self._launch.runs],
            "originalUriBaseIds": {_ROOT: {"uri": pathlib.Path(self._directory).as_uri() + "/"}},
            "results": results,
        }  # fmt: skip
        if process["world_size"] > 1 and self._launch.job is None:
            made["automationDetails"] = {"id": f"devsan/rank{process['rank']}/"}
        return made

    def _invocation(self, run: Mapping[str, Any]) -> Plain:
        end, words = run["end"], self._launch.command
        made: Plain = {
            "commandLine": shlex.join(words), "arguments": list(words[1:]), "startTimeUtc": run["start"],
            "executionSuccessful": False,
            "workingDirectory": {"uri": pathlib.Path(self._directory).as_uri() + "/"},
            "processId": run["process"]["pid"],
        }  # fmt: skip
        if end is not None:
            made["executionSuccessful"] = end["how"] == "finished" and not end["exit_code"]
            made["endTimeUtc"] = _later(run["start"], end["time"])
            if end["exit_code"] is not None:
                made["exitCode"] = end["exit_code"]
        return made

    def _result(self, finding: Mapping[str, Any]) -> Plain:
        name = finding["code"] or _UNNAMED
        if name not in self._rules:
            self._rules[name] = _rule(finding)
        made: Plain = {
            "ruleId": name, "ruleIndex": list(self._rules).index(name), "level": _LEVELS[finding["severity"]],
            "rank": _RANKS[finding["confidence"]],
            "message": {"text": message(finding)}, "partialFingerprints": {"devsanFailure/v1": finding["id"]},
        }  # fmt: skip
        if finding["cause"]:
            made["partialFingerprints"]["devsanCause/v1"] = finding["cause"]
        others: list[Mapping[str, Any]] = []
        if finding["sites"]:
            site, others = main_site(finding, self._directory)
            if is_file(site["path"]):
                made["locations"] = [{"physicalLocation": self._place(site["path"], region(site))}]
            else:
                made["locations"] = [{"logicalLocations": [{"fullyQualifiedName": site["file"]}]}]
        related = list(self._related(finding, others))
        if related:
            made["relatedLocations"] = [{"id": number, **each} for number, each in enumerate(related)]
        if finding["stack"]:
            made["stacks"] = [self._stack(finding["stack"])]
        fixes = list(self._fixes(finding))
        if fixes:
            made["fixes"] = fixes
        return made

    def _related(self, finding: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Iterator[Plain]:
        for _, sentence, frame in placed(finding):
            if frame is not None and is_file(frame["path"]):
                yield {"physicalLocation": self._place(frame["path"], _span(frame)), "message": {"text": sentence}}
        for site in (each for each in others if is_file(each["path"])):
            text = site["note"] or "refused here"
            yield {"physicalLocation": self._place(site["path"], region(site)), "message": {"text": text}}
        for other in finding["also_at"]:
            frame = other["frame"]
            if not is_file(frame["path"]):
                continue
            yield {
                "physicalLocation": self._place(frame["path"], _span(frame)),
                "message": {"text": f"the same cause: {other['sentence']}"},
            }

    def _stack(self, frames: Sequence[Mapping[str, Any]]) -> Plain:
        rows = []
        for frame in frames:
            location: Plain = {"physicalLocation": self._place(frame["path"], _span(frame))}
            if frame["function"]:
                location["logicalLocations"] = [{"fullyQualifiedName": frame["function"], "kind": "function"}]
            row: Plain = {"location": location}
            if frame["package"]:
                row["module"] = frame["package"]
            rows.append(row)
        return {"frames": rows}

    def _fixes(self, finding: Mapping[str, Any]) -> Iterator[Plain]:
        for fix in finding["fixes"]:
            edits = fix["edits"]
            if not edits or not all(each["safe"] and is_inside(each["path"], self._directory) for each in edits):
                continue
            yield {
                "description": {"text": f"{fix['text']} ({fix['confidence']})"},
                "artifactChanges": [{
                    "artifactLocation": self._artifact(edit["path"]),
                    "replacements": [
                        {"deletedRegion": _region(_span(edit)), "insertedContent": {"text": edit["after"]}},
                    ],
                } for edit in edits],
            }  # fmt: skip

    def _place(self, path: str, span: tuple[int, int, int, int]) -> Plain:
        made: Plain = {"artifactLocation": self._artifact(path)}
        if span[0] > 0:
            made["region"] = _region(span)
        return made

    def _artifact(self, path: str) -> Plain:
        inside = relative(path, self._directory)
        if inside != path:
            return {"uri": _quoted(inside), "uriBaseId": _ROOT}
        return {"uri": pathlib.Path(path).as_uri() if os.path.isabs(path) else _quoted(path)}


def _rule(finding: Mapping[str, Any]) -> Plain:
    if finding["code"] is None:
        text = "An operation was refused because of the devices of its operands, and no cause is known."
        return {"id": _UNNAMED, "shortDescription": {"text": text}}
    made: Plain = {"id": finding["code"], "name": finding["name"], "defaultConfiguration": {"level": "error"}}
    code = find_code(finding["code"])
    if code is None:  # DV000
        made["shortDescription"] = {"text": heading(finding)}
        return made
    page = code.page()
    made["shortDescription"] = made["fullDescription"] = {"text": code.summary["en"]}
    made["help"] = {"text": page, "markdown": page}
    home = _home_page()
    if home is not None:
        made["helpUri"] = f"{home}/codes/{code.name}/page.md"
    return made


def _home_page() -> str | None:
    """The address that the installed package names as its own."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("devsan").get_all("Project-URL") or []
    except PackageNotFoundError:  # a copy that is only on the path
        return None
    named = dict(url.split(", ", 1) for url in urls if ", " in url)
    return named.get("Homepage", "").rstrip("/") or None


def _span(frame: Mapping[str, Any]) -> tuple[int, int, int, int]:
    return frame["line"], frame["column"], frame["end_line"], frame["end_column"]


def _region(span: tuple[int, int, int, int]) -> Plain:
    line, column, end_line, end_column = span
    made = {"startLine": line}
    if column > 0:
        made["startColumn"] = column
    if end_line >= line and end_column > 0 and column > 0:
        made.update(endLine=end_line, endColumn=end_column)
    return made


def _quoted(path: str) -> str:
    return quote(path.replace(os.sep, "/"))


def _later(start: str, seconds: float) -> str:
    time = datetime.fromisoformat(start.replace("Z", "+00:00")) + timedelta(seconds=seconds)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
