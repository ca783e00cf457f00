"""Moves that the program wrote and that moved nothing: their result was thrown away, or the tensor was there already.

See NOTE [The way of a value] in way.py.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from devsan import core
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.places import place_in, place_of
from devsan.introspect.frames.scopes import Spot
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import MISSING
from devsan.introspect.provenance.amended import kept, sent_to, target_of
from devsan.introspect.provenance.creation import dropped_moves
from devsan.introspect.provenance.dropped_results import dropped_at, is_move, move_in, receiver_of_move
from devsan.introspect.provenance.named_device import Named, device_named
from devsan.introspect.provenance.reader import event_at
from devsan.introspect.provenance.way import Way, function_called, is_own
from devsan.introspect.source.sources import statements_of
from devsan.introspect.source.statements import said_by


@dataclass(frozen=True)
class Seen:
    """An operand as a frame sees it.

    Attributes:
        node: the expression.
        number: of the frame.
        device: where it is.
    """

    node: ast.AST
    number: int
    device: str


class MovesWithoutEffect:
    """Finds them on the ways of the operands of one failure.

    Args:
        frames: of the traceback, outermost first.
    """

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.frames = frames
        self.way = Way(frames)

    def dropped(self, operand: Seen, wanted: Collection[str]) -> core.Event | None:
        """Returns the statement that moved the operand, or what it was made from, and threw the result away; or None.

        Args:
            operand: one that is in the wrong place.
            wanted: where the others are: a statement that surely moves to another place is passed by.
        """
        for step in self.way.back_from(operand.node, operand.number, operand.device):
            for statement, spot in dropped_at(step):
                call: Any = move_in(statement)
                target = _target(call, spot)
                if is_own(spot) and (target is None or any(_is_same(target.device, each) for each in wanted)):
                    event = self._event(statement, call, spot, target)
                    event.discarded = True
                    event.amended = kept(statement, spot) if isinstance(statement, ast.Expr) else ""
                    return event
        return None

    def dropped_of_holder(self, operand: Seen) -> list[core.Event]:
        """Returns the statements that moved the object that holds the operand, and threw away the other object that its
        own ``to`` returned."""
        for step in self.way.back_from(operand.node, operand.number, operand.device):
            held = step.spot.value(step.node) if step.part is not None and step.spot.frame is not None else MISSING
            if held is not MISSING and not is_tensor(held) and not is_module(held):
                found = list(dropped_moves(held, self.frames))
                if found:
                    return found
        return []

    def idle(self, operand: Seen, partner: Seen) -> core.Event | None:
        """Returns the last move on the operand's way, where that names the device on which it was already; or None.

        Args:
            operand: one that is in the wrong place.
            partner: what it is to meet.
        """
        for step in self.way.back_from(operand.node, operand.number, operand.device):
            call = step.node
            if step.part is not None or not step.straight or not is_move(call) or function_called(call, step.spot):
                continue
            target = _target(call, step.spot)
            if not is_own(step.spot) or target is None or target.device != operand.device:
                return None
            event = self._event(_statement_of(call, step.spot), call, step.spot, target)
            if event.source == core.DeviceSource.PEER:
                return None  # it is where another tensor is: that one's placement decides
            event.device = event.from_device = core.Device(operand.device)
            event.device_value, event.device_value_at = target.value, target.place
            beside, source = self._beside(partner, call, step.spot), event.stack[0].source
            event.amended = sent_to(beside, call, str(source)) if beside else ""
            return event
        return None

    def _event(self, statement: Any, call: ast.Call, spot: Spot, target: Named | None) -> core.Event:
        stack = [self._place(statement, spot)]
        if spot.frame is not None:
            stack += [place_of(frame) for frame in reversed(self.frames[: spot.number])]
        said = said_by(call)
        event = event_at([self._place(call, spot), *stack[1:]], "", f"Tensor.{said.call}", is_move=True)
        event.stack, event.op, event.kind = stack, f"Tensor.{said.call}", core.EventKind.MOVED
        event.device_text = said.device or ""
        if target is not None and (":" in target.device or target.device == "cpu"):
            event.device = core.Device(target.device)
        bound = statement.targets[0] if isinstance(statement, ast.Assign) else receiver_of_move(call)
        event.followed = ast.unparse(bound)
        return event

    def _place(self, node: Any, spot: Spot) -> core.Frame:
        ends = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        return place_in(spot.file, spot.function, *ends)

    def _beside(self, partner: Seen, call: ast.Call, spot: Spot) -> str:
        """A tensor on ``partner``'s way, where that is, which the function of ``call`` has before it; "" for none."""
        for step in self.way.back_from(partner.node, partner.number, partner.device):
            here = spot.frame is not None and step.spot.frame is spot.frame
            part = ast.Attribute(step.node, step.part, ast.Load()) if step.part else None  # type: ignore[arg-type]
            for each in [*([part] if part is not None else []), *ast.walk(step.node)] if here else ():
                held = step.spot.value(each) if isinstance(each, (ast.Name, ast.Attribute)) else MISSING
                bound = isinstance(each, ast.Attribute) or spot.before(call).last_given(ast.unparse(each)) is not None
                if is_tensor(held) and str(held.device) == partner.device and bound:  # type: ignore[attr-defined]
                    return ast.unparse(each)
        return ""


def _target(call: Any, spot: Spot) -> Named | None:
    """Returns the device that a move names at ``spot``; None where that is not known."""
    text = said_by(call).device
    if text in ('"cpu"', '"cuda"'):
        return Named(text.strip('"'))
    return device_named(target_of(call), spot.before(call))


def _is_same(named: str, device: str) -> bool:
    return named == device or (named == "cuda" and device.startswith("cuda:"))


def _statement_of(call: ast.AST, spot: Spot) -> ast.AST:
    """The statement that a call stands in."""
    for node in statements_of(spot.tree):
        whole = isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr, ast.AugAssign))
        if whole and any(each is call for each in ast.walk(node)):
            return node
    return call


def with_last_word(provenance: Sequence[core.Event], idle: core.Event) -> list[core.Event]:
    """Returns a provenance with a move without effect as the newest placement: the program's last word on the device.

    As it is where that very statement was recorded as a move. Where nothing was recorded, on real GPUs, nobody knows
    that the statement moved nothing.
    """
    if not any(each.sequence > 0 for each in provenance):
        return list(provenance)
    results = (core.EventKind.COMPUTED, core.EventKind.SHARED)
    newest = next((number for number, each in enumerate(provenance) if each.kind not in results), len(provenance))
    older = list(provenance[newest:])
    place = idle.stack[0]
    if older and any((each.file, each.span.line) == (place.file, place.span.line) for each in older[0].stack):
        if older[0].sequence > 0:
            return list(provenance)
        del older[0]  # read in the source
    return [*provenance[:newest], idle, *older]
