"""Which operands a refusal is about: from the core's facts, or from the sentence and what the frames hold."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod

from devsan import core
from devsan.diagnostics.placement import Placement
from devsan.introspect.frames.chain import Failure
from devsan.introspect.frames.error_match import Sentence
from devsan.introspect.frames.error_patterns import Kind
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.tensors import dtype_name
from devsan.introspect.frames.tracking import Tracked, follow, present_at, untraced

_LABELS = 4  # more of them on one line are harder to read than none


def operands_in(failure: Failure, frames: Sequence[Frame], outermost: int) -> list[Tracked]:
    """Returns the operands of the failing operation, followed from the innermost frame to number ``outermost``.

    Goes on to the program's own frame when that one is a library's. Made once: the report and the diagnosis both ask.
    """
    kept: dict[int, list[Tracked]] = vars(failure).setdefault("operands", {})  # as ``frames_of_failure`` keeps frames
    if outermost not in kept:
        kept[outermost] = _operands_in(failure, frames, outermost)
    return list(kept[outermost])


def _operands_in(failure: Failure, frames: Sequence[Frame], outermost: int) -> list[Tracked]:
    sentence = failure.sentence
    frames = untraced(frames)
    operands = _from_core(failure.refusal)
    _order_as_written(operands, failure, frames[-1])
    if not operands:
        operands = present_at(frames[-1], sentence.argument)
        unheld = sentence.devices if sentence.kind is Kind.MIXED else ()
        for device in unheld:  # an operand that no variable holds is known by its device alone
            if not any(operand.placement is not None and operand.placement.is_on(device) for operand in operands):
                operands.append(Tracked(None, Placement(device), place=len(operands)))
    operands = _concerned(operands, sentence)
    _mark_offending(operands, sentence)
    own = [place for place in range(min(outermost + 1, len(frames))) if frames[place].whose is Whose.PROGRAM]
    follow(operands, frames, own[-1] if own else outermost)
    return _without_results(operands, failure.refusal)


def _without_results(operands: list[Tracked], refusal: core.Refusal | None) -> list[Tracked]:
    """Returns the operands without the result that torch itself has made for an operator that writes into one.

    ``matrix @ vector`` is ``empty(...).addmv_(matrix, vector)``: no source holds that ``self``, and it is where the
    vector is, so that it tells of nothing more.
    """
    op = refusal.op if refusal is not None else ""
    if not op.endswith(("_", ".out")):
        return operands
    seen = {operand.placement.device for operand in operands if operand.at and operand.placement is not None}
    return [
        operand
        for operand in operands
        if operand.at or operand.offending or operand.role not in ("self", "out") or operand.placement is None
        or operand.placement.device not in seen
    ]  # fmt: skip


def operands_of_refusal(failure: Failure) -> list[Tracked]:
    """Returns the operands as the core kept them, none when it did not; those concerned, the offending ones marked."""
    operands = _concerned(_from_core(failure.refusal), failure.sentence)
    _mark_offending(operands, failure.sentence)
    return operands


def worth_showing(operands: list[Tracked], place: int | None, sentence: Sentence) -> list[Tracked]:
    """Returns the operands to show: one for each device of each piece of source, and of many only two.

    A module stands for its weight and its bias, a list for its elements: one name for each device is enough.
    """
    best: dict[object, Tracked] = {}
    for operand in operands:
        if operand.placement is None:
            continue
        expression = operand.at.get(place) if place is not None else None
        piece = None if expression is None else id(expression.node)
        before = best.get((piece, operand.placement.device))
        if before is None or _weight(operand, sentence) > _weight(before, sentence):
            best[piece, operand.placement.device] = operand
    shown = [operand for operand in operands if operand in best.values()]
    if len(shown) > _LABELS:
        offending = [operand for operand in shown if operand.offending][:1]
        shown = [operand for operand in shown if not operand.offending][:1] + offending
    return shown


def _from_core(refusal: core.Refusal | None) -> list[Tracked]:
    if refusal is None:
        return []
    return [
        Tracked(
            str(operand.name),
            Placement(str(operand.device), dtype_name(str(operand.dtype)), tuple(operand.shape)),
            place,
            origin=(int(operand.origin[0]), str(operand.origin[1])),
            storage=int(operand.storage),
        )
        for place, operand in enumerate(refusal.operands)
    ]


def _order_as_written(operands: list[Tracked], failure: Failure, frame: Frame) -> None:
    """torch computes ``linear(input, weight, bias)`` as ``addmm(bias, input, weight.t())``."""
    node = frame.node
    called = frame.segment(node.func) if isinstance(node, ast.Call) else ""
    op = failure.refusal.op if failure.refusal is not None else ""
    if operands and op == "aten::addmm" and called.split(".")[-1] == "linear":
        for operand in operands:
            operand.place = {"mat1": 0, "mat2": 1}.get(operand.role or "", 2)


def _concerned(operands: list[Tracked], sentence: Sentence) -> list[Tracked]:
    """Returns the operands without those that may be where they are: on the host, and no device of the sentence."""
    on_host = [operand for operand in operands if operand.placement is not None and operand.placement.device == "cpu"]
    indices = [operand for operand in on_host if (operand.role or "").startswith("indices[")]
    if len(indices) < len(on_host):  # indices may be on the host: what else is there is not where it has to be
        operands = [operand for operand in operands if operand not in indices]
    if "cpu" in sentence.devices or not sentence.devices:
        return operands
    free = [
        operand
        for operand in on_host
        if sentence.kind is Kind.INDEX or (operand.placement is not None and operand.placement.shape == ())
    ]
    return [operand for operand in operands if operand not in free]


def _mark_offending(operands: list[Tracked], sentence: Sentence) -> None:
    """Marks what torch names; where it names a device only, what is there; else what is not with the first."""
    placed = [operand for operand in operands if operand.placement is not None]
    if len(sentence.devices) > 1 or sentence.kind is Kind.NUMPY:
        away = [operand for operand in placed if operand.placement and operand.placement.is_on(sentence.devices[-1])]
    else:
        first = sentence.devices[0] if sentence.devices else placed[0].placement.device if placed else ""  # type: ignore[union-attr]
        first = first if sentence.devices or sentence.kind is not Kind.HOST else "cpu"
        away = [operand for operand in placed if operand.placement and not operand.placement.is_on(first)]
        away = [operand for operand in away if operand.placement and operand.placement.device != "cpu"] or away
    named = [operand for operand in away if (operand.role or "").split("[")[0] == sentence.argument]
    if sentence.kind is Kind.HOST:
        away = away[-1:]  # the data comes first, and what says how it is laid out behind it
    for operand in named or away:
        operand.offending = True


def _weight(operand: Tracked, sentence: Sentence) -> tuple[bool, bool, int]:
    sizes = operand.placement.shape if operand.placement is not None else None
    named = (operand.role or "").split("[")[0] == sentence.argument
    return operand.offending, named, prod(sizes) if sizes is not None else 0
