"""From a failure to its facts and, by the core's diagnosis, to findings."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from devsan import core
from devsan.diagnostics.placement import Placement
from devsan.introspect import process_info, settings
from devsan.introspect.cells import with_cells_named
from devsan.introspect.frames.around import devices_around
from devsan.introspect.frames.chain import Failure
from devsan.introspect.frames.edits import can_run, knows, moves_none
from devsan.introspect.frames.error_patterns import Kind
from devsan.introspect.frames.expressions import Expression, operands_at
from devsan.introspect.frames.frames import Frame, frames_of_failure
from devsan.introspect.frames.gradients import gradient_assigned, gradient_given, returned_by
from devsan.introspect.frames.operands import operands_in, operands_of_refusal
from devsan.introspect.frames.places import clean, place_at, place_in, place_of, without_machinery
from devsan.introspect.frames.subjects import device_count, generator_of_call, ordinal_in
from devsan.introspect.frames.tensors import is_module, plain_attributes
from devsan.introspect.frames.tracking import Tracked, present_at, site_of, untraced
from devsan.introspect.held_memory import held_memory
from devsan.introspect.models import models
from devsan.introspect.models.optimizers import optimizer, optimizers_in
from devsan.introspect.models.registry import Registry
from devsan.introspect.models.replicas import name_operands, place_in_text
from devsan.introspect.operands.facts import Operands
from devsan.introspect.provenance import placed
from devsan.introspect.provenance.earlier import count_calls
from devsan.introspect.provenance.generators import handed_over, named_by_program
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.introspect.state_ahead import with_state_ahead

_WITH_OPERANDS = frozenset({Kind.MIXED, Kind.INDEX, Kind.NUMPY, Kind.HOST, Kind.META})
_PRESENT = frozenset({Kind.POINTER, Kind.GROUP, Kind.EXPECTED})

# The traceback of another thread or process in the message: what failed is in none of the frames that are left.
_RECEIVERS = ("self", "module")  # what a forward calls the module that it is of
_FROM_AFAR = re.compile(r'^\s*File "[^"\n]+", line \d+, in .+$', re.MULTILINE)

explained_refusals: set[int] = set()
"""The numbers of the calls that the core refused and that were explained."""

_found: list[core.Finding] = []  # of this process


@dataclass
class Explanation:
    """What is known of a failure.

    Attributes:
        facts: as they went into the diagnosis.
        findings: the cause first.
        frames: of the traceback, outermost first.
        place: number of the frame to show; -1 without frames.
        documents: the findings as documents have them, once they were asked for: the run file, the rank's document and
            GitHub's annotations hold the same.
    """

    facts: core.Facts
    findings: list[core.Finding]
    frames: list[Frame] = field(default_factory=list)
    place: int = -1
    documents: list[dict[str, Any]] = field(default_factory=list)


def explain(failure: Failure) -> Explanation | None:
    """Returns facts and findings of ``failure``; None where DevSan's core is not there for this torch.

    Reads frames, modules and records; runs nothing of the program.
    """
    if not core.is_here():
        return None
    if failure.refusal is not None:
        explained_refusals.add(int(failure.refusal.number))
    with plain_attributes():
        explanation = collect(failure)
    explanation.findings = [
        with_cells_named(_with_edits_that_run(_with_memory(finding, explanation), explanation.frames))
        for finding in core.diagnose(explanation.facts)
    ]
    if failure.is_new_to(__name__):
        _found.extend(explanation.findings)
    return explanation


def _with_memory(finding: core.Finding, explanation: Explanation) -> core.Finding:
    with plain_attributes():
        return with_state_ahead(finding, explanation.facts, explanation.frames)


def _with_edits_that_run(finding: core.Finding, frames: Sequence[Frame]) -> core.Finding:
    """Takes away the edits that would ask for the device of something that is not there where they stand."""
    fixes = list(finding.fixes)
    for fix in fixes:
        edit = fix.edit
        if edit is None:
            continue
        at_use = fix.kind == core.FixKind.USE_SITE
        runs = knows(frames, edit) and not moves_none(frames, edit) if at_use else can_run(
            edit.file, edit.line, edit.before, edit.after)  # fmt: skip
        if not runs:
            fix.edit = None
    finding.fixes = fixes
    return finding


def findings_so_far(handled: Failure | None = None) -> list[core.Finding]:
    """Returns the findings of this process, all sites of one cause as one.

    Args:
        handled: what the program is handling now; among them from here on.
    """
    if handled is not None:
        explain(handled)
    return list(core.merge_findings(_found)) if _found else []


def collect(failure: Failure) -> Explanation:
    """Returns the facts of ``failure``, without findings."""
    frames = frames_of_failure(failure)
    place = site_of(frames) if frames else -1
    sentence = failure.sentence
    op = str(failure.refusal.op) if failure.refusal is not None else sentence.op or ""
    phase = process_info.phase_of(frames, op, sentence.kind)
    stepping = phase == core.Phase.OPTIMIZER
    everything = stepping or sentence.kind is Kind.MEMORY
    trees = models.models_in(frames, search=everything or sentence.kind in (Kind.MODULE, Kind.GRADIENT))
    registry = Registry(trees)
    optimizers = optimizers_in(frames, search=everything)
    trees = registry.trees
    reader = ProvenanceReader()
    known = [placed.model_of(tree, reader) for tree in trees]
    described = Operands(reader, registry, known, optimizers, frames, place)
    tracked = tracked_operands(failure, frames, place, registry)
    elsewhere = place_in_text(failure.message)
    names = name_operands(tracked, elsewhere, registry, op) if elsewhere is not None else {}
    operands = described.describe(tracked)
    for number, name in names.items():
        operands[number].name = name
    returned = returned_by(sentence) if sentence.kind is Kind.GRADIENT and len(operands) > 1 else None
    if returned is not None:
        operands[0].name, operands[1].name = returned.of, clean(ast.unparse(returned.value))
        operands[1].provenance = described.origins.lineage.at(returned.value, returned.spot, str(operands[1].device))
    if sentence.kind is Kind.GENERATOR:
        for operand, each in zip(operands, tracked, strict=False):
            if operand.offending:
                operand.kind = core.OperandKind.GENERATOR
                given = handed_over(each.value, frames, place)
                operand.provenance = [*([given] if given is not None else []), *operand.provenance]
    step = count_calls(reader, frames, place, operands)
    places = _places(frames, registry)
    if elsewhere is not None:
        places.insert(0, place_in(elsewhere[0], elsewhere[2], elsewhere[1]))
    main = _main_model(registry, frames, described.homes.main)
    ordered = known[main : main + 1] + known[:main] + known[main + 1 :]
    facts = core.Facts(
        failure=core.Failure(
            op=op, sentence=clean(sentence.text), kind=core.SentenceKind.__members__[sentence.kind.name],
            figures={key: str(value) for key, value in sentence.figures.items()}, operands=operands,
            around=_around(tracked, frames, place), frames=places, phase=phase, step=step,
            call=described.call.statement() or core.Frame(),
            memory=held_memory(failure, frames, registry, optimizers, reader),
        ),
        models=ordered,
        optimizers=[optimizer(each, registry, reader, frames) for each in optimizers],
        settings=settings.settings_in(frames),
        process=process_info.process(frames),
    )  # fmt: skip
    return Explanation(facts, [], frames, place)


def _around(tracked: Sequence[Tracked], frames: Sequence[Frame], place: int) -> list[core.Device]:
    """Where the other tensors of the statement are that the report shows, if the operands stand in it."""
    if not frames or not any(place in each.at for each in tracked):
        return []
    return [core.Device(device) for device in devices_around(frames[place])]


def tracked_operands(failure: Failure, frames: Sequence[Frame], place: int, registry: Registry) -> list[Tracked]:
    """Returns what the refusal is about: operands, or a generator, an ordinal, a parameter in the wrong place."""
    sentence = failure.sentence
    if not frames or (_FROM_AFAR.search(failure.message) and untraced(frames) is frames):
        return operands_of_refusal(failure)
    frame = frames[place]
    if sentence.kind in _WITH_OPERANDS:
        return operands_in(failure, frames, place)
    if sentence.kind in _PRESENT:
        return [_at(tracked, place, expression) for tracked, expression in _present(frame)]
    if sentence.kind is Kind.GENERATOR:
        subjects, place = generator_of_call(frames, place, sentence.devices[-1], sentence.devices[0])
        found = [
            Tracked(
                None,
                Placement(subject.device.split("  ")[0]),
                number,
                subject.offending,
                value=subject.expression.value(frames[place]),
                at={place: subject.expression},
            )
            for number, subject in enumerate(subjects)
        ]
        return named_by_program(found, frames)
    if sentence.kind is Kind.ORDINAL:
        subject = ordinal_in(frame, device_count())
        found = [Tracked(None, Placement(subject.device), offending=True)] if subject is not None else []
        for tracked in found:
            tracked.at[place] = subject.expression  # type: ignore[union-attr]
        return found
    if sentence.kind is Kind.MODULE and len(sentence.devices) == 2:
        return _parameter_on(sentence.devices[1], frames, registry)
    if sentence.kind is Kind.GRADIENT:
        pair = gradient_assigned(frame) or gradient_given(frame, int(sentence.figures.get("index", 0)))
        seen = [placed.device for placed in (each.placement(frame) for each in pair) if placed is not None]
        devices = sentence.devices if len(sentence.devices) == 2 else seen
        if len(devices) != 2:
            return []
        both = [
            Tracked("tensor", Placement(devices[0]), 0),
            Tracked("gradient", Placement(devices[1]), 1, offending=True),
        ]
        for each, expression in zip(both, pair, strict=False):
            each.see(expression, place, frame)
        return both
    return []


def _present(frame: Frame) -> list[tuple[Tracked, Expression]]:
    expressions = [each for each in operands_at(frame) if each.placement(frame) is not None]
    return list(zip(present_at(frame), expressions, strict=False))


def _at(tracked: Tracked, place: int, expression: Expression) -> Tracked:
    tracked.at[place] = expression
    return tracked


def _parameter_on(device: str, frames: Sequence[Frame], registry: Registry) -> list[Tracked]:
    """A parameter or buffer that is there: of the module whose call failed, if it has one."""
    failing = [models.Tree(module, "", []) for frame in reversed(frames) if (module := _receiver(frame)) is not None]
    for tree in (*failing, *registry.trees):
        for _, name, tensor, _ in tree.tensors():
            if str(tensor.device) == device:
                return [Tracked(name, Placement(device), offending=True, value=tensor)]
    return []


def _places(frames: Sequence[Frame], registry: Registry) -> list[core.Frame]:
    """The failing stack as the core's Frames, innermost first, with the callers of whoever caught the exception."""
    places = [place_of(frame, _module_path(frame, registry)) for frame in reversed(frames)]
    caller: FrameType | None = frames[0].caller if frames else None
    if caller is not None and frames[0].has_returned():
        caller = None  # it has gone on since: its line is not that of the call any more
    while caller is not None:
        places.append(place_at(caller.f_code, caller.f_lasti))
        caller = caller.f_back
    return without_machinery(places)


def _receiver(frame: Frame) -> Any | None:
    """The module that a function is a method of, or that is its first argument by that name; None where it is none."""
    names = frame.code.co_varnames[: frame.code.co_argcount]
    first = frame.scope.locals.get(names[0]) if names and names[0] in _RECEIVERS else None
    return first if is_module(first) else None


def _module_path(frame: Frame, registry: Registry) -> str:
    module = _receiver(frame)
    found = registry.path_of(module) if module is not None else None
    return found[1] if found is not None else ""


def _main_model(registry: Registry, frames: Sequence[Frame], of_operands: int | None) -> int:
    """The model whose forward failed; else the one that an operand belongs to, or that a function was given first."""
    given: list[int] = []
    for frame in frames:
        names = frame.code.co_varnames[:1]
        first = frame.scope.locals.get(names[0]) if names else None
        found = registry.path_of(first) if is_module(first) else None
        if found is not None and names[0] in _RECEIVERS:
            return found[0]
        given += [found[0]] if found is not None else []
    return of_operands if of_operands is not None else next(iter(given), 0)
