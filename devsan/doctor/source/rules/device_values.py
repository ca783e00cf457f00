"""Tensors that one device value places, where they meet what is elsewhere: an assumption, or a loss of two devices."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import Message, message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Mapped, Meeting
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.asked_device import can_be_asked
from devsan.doctor.source.rules.predicates import (
    how_they_meet,
    line_of,
    meetings_by_tensor,
    places_of,
    that_they_meet,
)

_LOSSES = ("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "kl_div", "huber_loss", "smooth_l1_loss")


def value_meetings(program: Program, code: str, of_losses: bool) -> Iterator[Diagnostic]:
    """Yields a finding for each tensor that one value places; those that first meet in a loss, or all others."""
    spread = next((event.map for event in program.events if isinstance(event, Mapped) and event.map.spread), None)
    for group in meetings_by_tensor(program, "value"):
        first = group[0]
        if _is_loss(first.node) is not of_losses:
            continue
        source = program.source
        said = list(how_they_meet(program, first))
        if spread is not None:
            text, line = spread.text, line_of(spread.node)
            said.append(message("the device map `{map}`, line {line}, splits the model", map=text, line=line))
        yield finding(
            code,
            that_they_meet(program, first),
            source.place(first.offending.tensor.made if first.offending.tensor.made is not None else first.node),
            tuple(said),
            _to_the_logits(program, first) if of_losses else _with_the_other(program, first),
            severity="error" if first.other.tensor.where.kind == "gpu" else "warning",
            confidence="certain" if first.other.tensor.where.kind == "gpu" else "likely",
            sites=places_of(program, group),
        )  # fmt: skip


def _with_the_other(program: Program, meeting: Meeting) -> Message:
    """The one is created where the other is, if that has its value by then; what a module is given goes to it."""
    called = meeting.node.func if isinstance(meeting.node, ast.Call) else None
    if called is not None and meeting.offending.node is called:
        return _moved_to(program, meeting.other.node, called)
    other = program.source.shown(meeting.other.node)
    if can_be_asked(program.source, meeting.other.node, meeting.offending.tensor.made):
        return message("take the device from the tensor that it is used with: `device={other}.device`", other=other)
    return _moved_to(program, meeting.offending.node, meeting.other.node)


def _moved_to(program: Program, node: ast.AST, other: ast.AST) -> Message:
    shown = program.source.shown
    return message("move {name} to the device of {other} before they are combined",
                   name=f"`{shown(node)}`", other=f"`{shown(other)}`")  # fmt: skip


def _to_the_logits(program: Program, meeting: Meeting) -> Message:
    """The target goes to what the model computed, which is larger. Where no argument is called so it is the second."""
    first, second = meeting.offending.node, meeting.other.node
    if second is _target(meeting.node):
        first, second = second, first
    shown = program.source.shown
    if any(isinstance(each, ast.Call) for each in ast.walk(second)):  # to ask for its device would call it once more
        return _moved_to(program, first, second)
    return message("move `{target}` to the device of `{other}`: `{target}.to({other}.device)`",
                   target=shown(first), other=shown(second))  # fmt: skip


def _target(call: ast.AST) -> ast.AST | None:
    if not isinstance(call, ast.Call):
        return None
    named = (word.value for word in call.keywords if word.arg in ("target", "targets", "labels"))
    return next(named, call.args[1] if len(call.args) > 1 else None)


def _is_loss(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _LOSSES or name.lower().endswith(("loss", "criterion", "loss_fct", "loss_fn"))
