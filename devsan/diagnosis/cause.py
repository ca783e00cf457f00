"""What the diagnosis adds to a report: the code, who placed the operands, the best fix, or the candidates."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from devsan import core
from devsan.diagnosis.source import shown_path, whole_path
from devsan.diagnosis.strip import strip_of
from devsan.diagnostics.codes import UNDECIDED, name_of
from devsan.diagnostics.diagnostic import Confidence, Diagnostic, Edit, Fix, Operand, Place
from devsan.diagnostics.held_memory import HeldMemory, MemoryPart
from devsan.diagnostics.messages import message
from devsan.diagnostics.placement import Placement, owner_text
from devsan.introspect.deadline import Late, within
from devsan.introspect.explain import Explanation, explain
from devsan.introspect.frames.chain import Failure
from devsan.introspect.frames.edits import can_run

_SECONDS = 5.0
_MOST = 4  # operands whose placement is told


def explained(
    report: Diagnostic, failure: Failure, patience: float | None = None
) -> tuple[Diagnostic, Explanation | None]:
    """Returns ``report`` with what the diagnosis knows, and the diagnosis itself.

    ``report`` itself where it knows nothing or fails; where it takes longer than ``patience`` seconds, by default
    five, it says so.
    """
    explanation: Explanation | None = None
    if failure.trace is None and failure.refusal is None:  # a sentence alone has no cause
        return report, None
    try:
        explanation = within(_SECONDS if patience is None else patience, lambda: explain(failure))
        return (report if explanation is None else _explained(report, explanation)), explanation
    except Late:
        told = message("the search for the cause was stopped: it took too long")
        return replace(report, notes=(*report.notes, told)), explanation
    except Exception:  # the report must not be lost for the sake of its cause
        return report, explanation


def _explained(report: Diagnostic, explanation: Explanation) -> Diagnostic:
    if not explanation.findings:
        return report
    finding = explanation.findings[0]
    if str(finding.code) == UNDECIDED and not finding.candidates:
        return report
    facts = explanation.facts
    operands = [facts.failure.operands[number] for number in finding.operands]
    rows = list(report.operands)
    placed = tuple(_placed(operand, event, rows, facts.models) for operand, event in _told(operands))
    strips = (f"{model.expression or 'model'}: {line}" for model in facts.models if (line := strip_of(model)))
    notes = (*report.notes, *([line] if (line := next(strips, "")) else ()))
    told = replace(report, operands=tuple(rows), placed=placed, notes=notes, memory=_held(facts.failure.memory))
    return with_cause(told, finding)


def _held(memory: core.HeldMemory | None) -> HeldMemory | None:
    if memory is None:
        return None
    parts = tuple(MemoryPart(each.kind.name.lower(), each.bytes) for each in memory.parts)
    return HeldMemory(str(memory.device), memory.total, memory.free, memory.allocated, parts)


def with_cause(report: Diagnostic, finding: core.Finding) -> Diagnostic:
    """Returns ``report`` with the cause that ``finding`` says: code, evidence, fixes."""
    code = str(finding.code)
    candidates = [str(each) for each in finding.candidates] if code == UNDECIDED else []
    return replace(
        report, code=code, confidence=confidence_of(finding), evidence=tuple(finding.evidence),
        candidates=tuple((each, name_of(each)) for each in candidates), fixes=fixes_of(finding.fixes),
        naive_fix=str(finding.naive_fix),
    )  # fmt: skip


def _told(operands: Sequence[core.Operand]) -> list[tuple[core.Operand, core.Event]]:
    """The operands of which is known who placed them, and that event; of those that one line placed on one device the
    first."""
    found: dict[object, tuple[core.Operand, core.Event]] = {}
    for operand in operands:
        event = operand.placement
        if event is not None and operand.best_name:
            site = event.site
            place = (site.file, site.span.line, site.span.column) if site is not None else None
            found.setdefault((str(operand.device), str(event.owner.name), place), (operand, event))
    return list(found.values())[:_MOST]


def _placed(operand: core.Operand, event: core.Event, rows: list[Operand], models: Sequence[core.Model]) -> Operand:
    """Returns what is told of ``operand``; the row that the report has for it anyway is taken out of ``rows``."""
    shape = tuple(operand.shape) if operand.shape is not None else None
    placement = Placement(str(operand.device), operand.dtype or None, shape)
    name, qualified_name = str(operand.best_name), None
    for row in rows:
        if row.name is not None and _is_same(row.name, operand):
            if row.name != operand.role or row.qualified_name:
                name, qualified_name = row.name, row.qualified_name
            rows.remove(row)
            break
    kept = str(operand.kept_as)
    if qualified_name is None and kept and kept.rpartition(".")[2] not in name:  # a parameter is called otherwise
        qualified_name = kept
    newest = operand.provenance[0]
    owner = owner_text(str(event.owner.name), str(event.owner.mechanism), str(operand.holder))
    followed = str(newest.followed) if newest.sequence != event.sequence or newest.op != event.op else ""
    return Operand(
        name, placement, bool(operand.offending), qualified_name, owner,
        _site(_frame_of(event, models)), str(event.owner.setting), followed if followed != name else "",
    )  # fmt: skip


def _is_same(name: str, operand: core.Operand) -> bool:
    path = str(operand.qualified_name)
    if operand.output_of and name == operand.role:
        return True
    return name in (operand.name, operand.role, path) or (path != "" and name.endswith(f".{path}"))


def _frame_of(event: core.Event, models: Sequence[core.Model]) -> core.Frame | None:
    """The user's line: the one that installed the owner, or that placed; the library's own where no other is known.

    A library that loads weights in threads of its own has no line of the user in its stack; the model's has it.
    """
    site, owner = event.site, event.owner
    if owner.where.file or (site is not None and not site.package):
        return owner.where if owner.where.file else site
    for model in models:
        for placement in model.placements:
            other = placement.owner
            if other.where.file and (other.name, other.mechanism) == (owner.name, owner.mechanism):
                return other.where
    return site


def _site(frame: core.Frame | None) -> Place | None:
    if frame is None or not frame.file:
        return None
    line = int(frame.span.line)
    source = " ".join(str(frame.source).split())
    file = str(frame.file)
    return Place(
        shown_path(file), line, int(frame.span.column), lines={line: source} if source else {}, path=whole_path(file)
    )


def fixes_of(fixes: Sequence[core.Fix]) -> tuple[Fix, ...]:
    """Returns the core's fixes, each once: the surest first, of those that are as sure as they are ranked."""
    found: dict[str, Fix] = {}
    for each in sorted(fixes, key=lambda fix: -int(fix.confidence)):
        found.setdefault(each.text, _fix_of(each))
    return tuple(found.values())


def confidence_of(held: core.Finding | core.Fix) -> Confidence:
    """Returns the confidence in a finding or a fix of the core."""
    return cast("Confidence", held.confidence.name.lower())


def _fix_of(fix: core.Fix) -> Fix:
    """An edit that names what is not there yet at its line is kept, and is not safe."""
    edits: tuple[Edit, ...] = ()
    if fix.edit is not None:
        file, line, before, after = str(fix.edit.file), int(fix.edit.line), str(fix.edit.before), str(fix.edit.after)
        column, end_line, end_column = _span_of(file, line, before)
        fits = fix.kind == core.FixKind.USE_SITE or can_run(file, line, before, after)
        place = Place(shown_path(file), line, column, end_line, end_column, path=whole_path(file))
        edits = (Edit(place, before, after, safe=fits and column > 0),)
    return Fix(fix.text, confidence_of(fix), edits, str(fix.kind.name).lower())


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
