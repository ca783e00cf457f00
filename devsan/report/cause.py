"""What the diagnosis adds to a report: the code, who placed the operands, the best fix, or the candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from devsan import core
from devsan.diagnostics.codes import name_of
from devsan.diagnostics.placement import Placement
from devsan.introspect.deadline import Late, within
from devsan.introspect.explain import Explanation, explain
from devsan.introspect.frames.chain import Failure
from devsan.report.facts import Cause, Edit, Fix, Operand, Placed, Report, Site
from devsan.report.source import shown_path, whole_path

UNDECIDED = "DV000"

_SECONDS = 2.0
_MOST = 4  # operands whose placement is told


def explained(report: Report, failure: Failure, patience: float | None = None) -> tuple[Report, Explanation | None]:
    """Returns ``report`` with what the diagnosis knows, and the diagnosis itself.

    ``report`` itself where it knows nothing, fails, or takes longer than ``patience`` seconds, by default two.
    """
    explanation: Explanation | None = None
    if failure.trace is None and failure.refusal is None:  # a sentence alone has no cause
        return report, None
    try:
        explanation = within(_SECONDS if patience is None else patience, lambda: explain(failure))
        return (report if explanation is None else _explained(report, explanation)), explanation
    except (Exception, Late):  # the report must not be lost for the sake of its cause
        return report, explanation


def _explained(report: Report, explanation: Explanation) -> Report:
    if not explanation.findings:
        return report
    finding = explanation.findings[0]
    code = str(finding.code)
    candidates = [str(each) for each in finding.candidates] if code == UNDECIDED else []
    if code == UNDECIDED and not candidates:
        return report
    facts = explanation.facts
    operands = [facts.failure.operands[number] for number in finding.operands]
    rows = list(report.operands)
    placed = tuple(_placed(operand, event, rows, facts.models) for operand, event in _told(operands))
    named = tuple((each, name_of(each)) for each in candidates)
    best, others = _fixes(finding)
    evidence = tuple(finding.evidence)
    cause = Cause(code, placed, best, named, evidence, str(finding.naive_fix), others)
    return replace(report, operands=tuple(rows), cause=cause)


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


def _placed(operand: core.Operand, event: core.Event, rows: list[Operand], models: Sequence[core.Model]) -> Placed:
    """Returns what is told of ``operand``; the row that the report has for it anyway is taken out of ``rows``."""
    shape = tuple(operand.shape) if operand.shape is not None else None
    placement = Placement(str(operand.device), operand.dtype or None, shape)
    name, qualified_name = str(operand.best_name), None
    for row in rows:
        if row.name is not None and _is_same(row.name, operand):
            name, qualified_name = row.name, row.qualified_name
            rows.remove(row)
            break
    newest = operand.provenance[0]
    followed = str(newest.followed) if newest.sequence != event.sequence or newest.op != event.op else ""
    return Placed(
        name, placement, _owner(operand, event), _site(_frame_of(event, models)), str(event.owner.setting),
        bool(operand.offending), qualified_name, followed if followed != name else "",
    )  # fmt: skip


def _owner(operand: core.Operand, event: core.Event) -> str:
    owner = event.owner
    if owner.name in ("", "program"):
        return "this program" if owner.name else ""
    if not owner.mechanism or owner.mechanism == owner.name:
        return str(owner.name)
    of = f" of {operand.holder}" if owner.mechanism.endswith("Hook") and operand.holder else ""
    return f"{owner.name}: {owner.mechanism}{of}"


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


def _site(frame: core.Frame | None) -> Site | None:
    if frame is None or not frame.file:
        return None
    line = int(frame.span.line)
    source = " ".join(str(frame.source).split())
    file = str(frame.file)
    column = int(frame.span.column) or None
    return Site(shown_path(file), line, column, {line: source} if source else {}, path=whole_path(file))


def _fixes(finding: core.Finding) -> tuple[Fix | None, tuple[Fix, ...]]:
    """The surest fix, of those that are as sure the first, for they are ranked by where they apply; the rest."""
    ranked = sorted(finding.fixes, key=lambda fix: -int(fix.confidence))
    found: dict[str, Fix] = {}
    for fix in ranked:
        read = fix_of(fix)
        found.setdefault(read.text, read)
    best, *others = found.values() or [None]
    return best, tuple(each for each in others if each is not None)


def fix_of(fix: core.Fix) -> Fix:
    """Returns the core's Fix as a report shows it."""
    edit, shown = fix.edit, None
    if edit is not None:
        shown = Edit(shown_path(str(edit.file)), int(edit.line), str(edit.before), str(edit.after))
    text = fix.text
    return Fix(text, str(fix.confidence.name).lower(), shown, str(fix.kind.name).lower())
