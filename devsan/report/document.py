"""From what is known in a running program to the pieces of a run's document (docs/reference/run-file.md).

Everything here returns plain dictionaries, lists, texts and numbers: the core's facts are gone when a file is read.
"""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Sequence
from typing import Any

from devsan import core
from devsan.diagnostics.codes import name_of
from devsan.introspect.explain import Explanation
from devsan.introspect.frames.edits import can_run
from devsan.introspect.provenance.shown import sentence_of
from devsan.report.codec import to_plain
from devsan.report.facts import Report, Site
from devsan.report.source import shown_path, whole_path

Plain = dict[str, Any]

_FRAMES = 16  # of a stack that are kept, the innermost ones; those of the program are kept all


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
    found = []
    for number, finding in enumerate(explanation.findings):
        first = number == 0
        found.append({
            **_explained(finding, explanation.facts), "headline": report.title, "sites": sites,
            "time": time, "report": shown if first else {},
        })  # fmt: skip
    return found


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


def _explained(finding: core.Finding, facts: core.Facts) -> Plain:
    failure = facts.failure
    return {
        "id": str(finding.id), "cause": str(finding.cause), "code": str(finding.code), "name": str(finding.name),
        "title": finding.title, "severity": _word(finding.severity), "confidence": _word(finding.confidence),
        "op": str(failure.op), "kind": _word(failure.kind), "phase": _word(failure.phase),
        "sentence": str(failure.sentence), "also_at": [],
        "stack": frames_of(failure.frames),
        "operands": [operand_of(operand) for operand in failure.operands],
        "involved": [int(number) for number in finding.operands],
        "evidence": list(finding.evidence),
        "fixes": [fix_of(each) for each in finding.fixes],
        "naive_fix": str(finding.naive_fix),
        "candidates": [{"code": str(each), "name": name_of(str(each))} for each in finding.candidates],
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


def operand_of(operand: core.Operand) -> Plain:
    """Returns an operand with its provenance."""
    span = operand.span
    return {
        "role": str(operand.role), "name": str(operand.name), "qualified_name": str(operand.qualified_name),
        "output_of": str(operand.output_of),
        "kind": _word(operand.kind), "device": str(operand.device), "dtype": str(operand.dtype),
        "shape": None if operand.shape is None else [int(size) for size in operand.shape],
        "bytes": int(operand.bytes), "offending": bool(operand.offending),
        "line": int(span.line), "column": int(span.column),
        "end_line": int(span.end_line), "end_column": int(span.end_column),
        "provenance": [event_of(event) for event in operand.provenance],
        "copies": [event_of(event) for event in operand.copies],
        "holder": str(operand.holder), "requires_grad": bool(operand.requires_grad),
    }  # fmt: skip


def event_of(event: core.Event) -> Plain:
    """Returns an event of a provenance, in facts and in words."""
    owner = event.owner
    return {
        "kind": _word(event.kind), "device": str(event.device), "from": str(event.from_device), "op": str(event.op),
        "bytes": int(event.bytes), "site": frame_of(event.site), "frames": frames_of(event.stack),
        "owner": {
            "name": str(owner.name), "mechanism": str(owner.mechanism), "setting": str(owner.setting),
            "where": frame_of(owner.where),
        },
        "source": _word(event.source), "device_text": str(event.device_text), "followed": str(event.followed),
        "subject": str(event.subject), "discarded": bool(event.discarded), "sentence": sentence_of(event),
    }  # fmt: skip


def frames_of(frames: Sequence[core.Frame]) -> list[Plain]:
    """Returns the innermost frames of a stack, and all of the program."""
    kept = [frame for number, frame in enumerate(frames) if number < _FRAMES or not frame.package]
    return [made for frame in kept if (made := frame_of(frame)) is not None]


def frame_of(frame: core.Frame | None) -> Plain | None:
    """Returns a frame; None for one that is not known."""
    if frame is None or not frame.file:
        return None
    span, file = frame.span, str(frame.file)
    return {
        "file": shown_path(file), "path": whole_path(file), "line": int(span.line), "column": int(span.column),
        "end_line": int(span.end_line), "end_column": int(span.end_column), "function": str(frame.function),
        "source": str(frame.source), "package": str(frame.package), "module": str(frame.module),
    }  # fmt: skip


def fix_of(fix: core.Fix) -> Plain:
    """Returns a fix. An edit that names what is not there yet at its line is kept, and marked as a sketch."""
    edit, made = fix.edit, None
    if edit is not None:
        file, line, before, after = str(edit.file), int(edit.line), str(edit.before), str(edit.after)
        fits = fix.kind == core.FixKind.USE_SITE or can_run(file, line, before, after)
        span = _span_of(file, line, before)
        made = {
            "file": shown_path(file), "path": whole_path(file), "line": line, "column": span[0],
            "end_line": span[1], "end_column": span[2], "before": before, "after": after,
            "applicable": fits and span[0] > 0,
        }  # fmt: skip
    return {
        "kind": _word(fix.kind), "text": fix.text,
        "confidence": _word(fix.confidence), "edit": made,
    }  # fmt: skip


def _span_of(file: str, line: int, text: str) -> tuple[int, int, int]:
    """Returns where ``text`` stands from ``line`` on: its column, and the line and column behind it; zeros where the
    source does not hold it."""
    there = linecache.getlines(file)[line - 1 :] if line > 0 else []
    if not there or not text:
        return 0, 0, 0
    lines = text.splitlines()
    start = there[0].find(lines[0])
    if start < 0 or not "".join(there[: len(lines)])[start:].startswith(text):
        return 0, 0, 0
    end = len(lines[-1]) + (start if len(lines) == 1 else 0)
    return start + 1, line + len(lines) - 1, end + 1


def model_of(model: core.Model, finding: str) -> Plain:
    """Returns a model with all its modules, as it was at ``finding`` ("" is the end of the run)."""
    return {
        "finding": finding, "expression": str(model.expression), "type": str(model.type),
        "device_map": [{"key": str(entry.key), "device": str(entry.device)} for entry in model.device_map],
        "device_map_text": str(model.device_map_text), "wrappers": [str(each) for each in model.wrappers],
        "quantization": str(model.quantization),
        "modules": [_module_of(module) for module in model.modules],
        "placements": [event_of(event) for event in model.placements],
    }  # fmt: skip


def _module_of(module: core.Module) -> Plain:
    return {
        "path": str(module.path), "type": str(module.type), "package": str(module.package),
        "tensors": [
            {"name": str(each.name), "is_buffer": bool(each.is_buffer), "device": str(each.device),
             "dtype": str(each.dtype), "bytes": int(each.bytes)}
            for each in module.tensors
        ],
        "hooks": [
            {"type": str(each.type), "owner": str(each.owner.name), "execution_device": str(each.execution_device),
             "offload": bool(each.offload)}
            for each in module.hooks
        ],
    }  # fmt: skip


def _word(value: Any) -> str:
    """A value of one of the core's enumerations: EventKind.MADE is "made"."""
    return str(value.name).lower()
