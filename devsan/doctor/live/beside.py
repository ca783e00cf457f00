"""Beside the report on a failure: what else is wrong with the models that its frames lead to.

The report tells what one operation met. Its models may have more than that fault, and some faults show themselves only
in the words of a library: a weight whose scales stayed behind is a tensor that bitsandbytes made, to the operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import Message
from devsan.doctor.as_report import report_of
from devsan.doctor.live.check import check
from devsan.doctor.live.lines import Lines
from devsan.doctor.live.rules import RULES
from devsan.doctor.live.subject import subject_with
from devsan.introspect.deadline import Late, within
from devsan.introspect.frames.tensors import plain_attributes
from devsan.introspect.models.models import models_in
from devsan.introspect.models.optimizers import optimizers_in
from devsan.render.terminal import printer as plain

if TYPE_CHECKING:
    from devsan.introspect.explain import Explanation

_SECONDS = 1.0
_MOST = 3


def findings_beside(explanation: Explanation) -> list[Diagnostic]:
    """Returns what is certainly wrong with the models in the frames of a failure, but for what the report told."""
    return within(_SECONDS, lambda: _found(explanation))


def write_beside(explanation: Explanation | None, stream: TextIO) -> None:
    """Prints the same on ``stream``. Whatever goes wrong here must not cost the report that was printed."""
    if explanation is None or not explanation.frames:
        return
    try:
        found = findings_beside(explanation)
    except (Exception, Late):
        return
    if found:
        write(found, stream)


def write(found: Sequence[Diagnostic], stream: TextIO) -> None:
    """Prints findings as failures are, each after an empty line."""
    for finding in found[:_MOST]:
        plain.write(report_of(finding), stream)


def _found(explanation: Explanation) -> list[Diagnostic]:
    told = {str(finding.code) for finding in explanation.findings[:1]}
    with plain_attributes():
        frames = explanation.frames
        subject = subject_with(models_in(frames, search=False), optimizers_in(frames, search=False), Lines(frames))
        found = check(subject, RULES, lambda rule, error: None)
    operands = {operand.qualified_name for operand in explanation.facts.failure.operands} - {""}
    return [
        each for each in found
        if each.confidence == "certain" and each.code not in told and operands.isdisjoint(_named(each.title))
    ]  # fmt: skip


def _named(title: str) -> Iterable[str]:
    """What a title speaks of: the report has told of its own operands."""
    return title.arguments.values() if isinstance(title, Message) else ()
