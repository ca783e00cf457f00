"""The operands of a failure as facts: names, kinds, where each is kept, and its provenance."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from devsan import core
from devsan.diagnostics.placement import Placement
from devsan.introspect.frames.expressions import Expression
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.places import clean, place
from devsan.introspect.frames.roots import held_in, is_view_of, only_tensor, root_of, tensor_in
from devsan.introspect.frames.tensors import is_module, is_tensor, memory_of, placement_of
from devsan.introspect.frames.tracking import Tracked
from devsan.introspect.models.batches import kept_in, left_in
from devsan.introspect.models.functions import keeper_of
from devsan.introspect.models.members import lone_member
from devsan.introspect.models.producers import made_by_module
from devsan.introspect.models.referrers import optimizer_state
from devsan.introspect.models.registry import ATTRIBUTE, Registry
from devsan.introspect.operands.given import Call
from devsan.introspect.operands.homes import Homes
from devsan.introspect.operands.kinds import Kinds
from devsan.introspect.operands.origins import Origins
from devsan.introspect.provenance.peer_names import device_there
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.introspect.provenance.without_effect import MovesWithoutEffect, Seen, with_last_word

_MOST = 16  # operands
_SIZES = {"float64": 8, "int64": 8, "complex64": 8, "complex128": 16, "float16": 2, "bfloat16": 2, "int16": 2,
          "int8": 1, "uint8": 1, "bool": 1}  # fmt: skip


class Operands:
    """Describes the operands of one failure.

    Args:
        reader: reads the records.
        registry: of the program's models.
        models: the core's Models, in the registry's order.
        optimizers: living ones that may keep an operand.
        frames: of the traceback, outermost first.
        place: number of the frame to show.
    """

    def __init__(
        self, reader: ProvenanceReader, registry: Registry, models: Sequence[core.Model], optimizers: Sequence[Any],
        frames: Sequence[Frame], place: int,
    ) -> None:  # fmt: skip
        self.registry, self.optimizers, self.frames, self.place = registry, optimizers, frames, place
        self.kinds = Kinds(registry, optimizers, frames, ())
        self.homes = Homes(registry, frames, place)
        self.origins = Origins(reader, registry, models, optimizers, frames, self.kinds)
        self.moves = MovesWithoutEffect(frames)
        self.call = Call(frames, place)

    def describe(self, operands: Sequence[Tracked]) -> list[core.Operand]:
        """Returns the core's Operands, in the order of the source."""
        self.kinds.together = [self._held(operand) for operand in operands]
        few = _few(operands)
        described = [self._describe(operand) for operand in few]
        for operand in described:
            _name_device(operand, described)
        seen = [self._seen(operand) for operand in few]
        weights = (core.OperandKind.PARAMETER, core.OperandKind.BUFFER)
        everywhere = [Seen(at.plain().node, self.frames.index(frame), str(operand.device))
                      for (at, frame), operand in zip(seen, described, strict=True) if at and frame]  # fmt: skip
        for (at, frame), operand in zip(seen, described, strict=True):
            others = [each for each in everywhere if each.device not in ("", "meta", str(operand.device))]
            if at is not None and frame is not None and others and operand.kind not in weights:
                self._without_effect(operand, at, frame, others)
        return described

    def _describe(self, tracked: Tracked) -> core.Operand:
        at, frame = self._seen(tracked)
        value, root, shown = tracked.value, None, None
        name, span = "", core.Span()
        if at is not None and frame is not None:
            value, root = self._value(at, frame, tracked)
            shown = root if root is not None and self._is_view(root, at, frame, tracked) else None
            name = at.text(frame) if shown is None else frame.segment(shown)
            node: Any = at.node
            if hasattr(node, "lineno"):  # a name that was made up has no place
                span = place(frame.code, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset).span
        operand = core.Operand(role=tracked.role or "", name=clean(name), offending=tracked.offending, span=span)
        whole = at is None or frame is None or shown is not None or value is tracked.value or at.value(frame) is value
        if not is_tensor(value) and tracked.storage:  # model.get_submodule(name).weight, which nobody else holds
            kept = self.registry.kept_in(tracked.storage)
            value = value if kept is None else kept
        own = placement_of(value) if is_tensor(value) and whole else None  # a part has a shape of its own
        self._placed(operand, own, tracked.placement)
        if at is not None and frame is not None and not isinstance(at.node, (ast.Name, ast.Attribute)):
            part = tensor_in(at.node, frame, str(operand.device))
            operand.made_of = clean(frame.segment(part)) if part is not None else ""
        node = root if root is not None else at.node if at is not None else None
        kind, home = self.kinds.of(value, str(operand.device), node, frame)
        if home is not None:
            home = self.homes.in_running(home)
            self.homes.note(operand, home)
        operand.kind = core.OperandKind.__members__[kind]
        if kind == ATTRIBUTE and home is None and frame is not None and is_module(frame.scope.locals.get("self")):
            operand.holder = type(frame.scope.locals["self"]).__name__
        if kind == "GLOBAL" and is_tensor(value):
            operand.holder = keeper_of(value, self.frames)
            operand.kept_as = "" if operand.holder else self.kinds.in_class(value)
        if at is None and not is_tensor(value):
            self.homes.note_weight_of_callee(operand)
        if frame is not None and frame.whose is Whose.HIDDEN:
            operand.output_of = made_by_module(tracked, self.frames)
        if (operand.qualified_name or operand.output_of) and frame is not None and frame.whose is Whose.HIDDEN:
            operand.name = ""  # torch's own variable: the path in the model says more
        listed = (
            operand.name.endswith("]") and frame is not None and frame.whose is Whose.HIDDEN
        )  # one of torch's lists
        if kind == "OPTIMIZER_STATE" and listed and is_tensor(value):
            operand.name = optimizer_state(self.optimizers, value) or operand.name  # as the optimizer calls it
        if is_tensor(value):
            operand.requires_grad, operand.is_leaf = _grad(value)
        self.origins.note(operand, value, at, frame, tracked.origin, self.homes.main)
        if listed and is_tensor(value) and home is None:
            self.origins.note_gradient(operand, value)
        if home is not None and home.registered and home.kind != ATTRIBUTE:
            self.homes.note_replaced(operand, home, self.origins.lineage)
            self.homes.note_ignored(operand, home)
        elif home is None and (is_tensor(value) or tracked.storage):
            held, memory = (value, memory_of(value) or 0) if is_tensor(value) else (None, tracked.storage)
            operand.left_in, operand.moved_part = left_in(held, memory, str(operand.device), self.frames) or ("", "")
            if held is not None:
                self._in_object(operand, held)
                if kind == "INPUT" and not operand.left_in and str(operand.device) == "cpu":
                    operand.kept_as = kept_in(held, self.frames)
        if at is None:  # the operator's own word for it says nothing
            operand.name = operand.kept_as or self._of_sum(operand)
        self._as_given(operand, tracked)
        if kind == "INPUT" and operand.provenance and operand.provenance[0].followed and self.origins.models:
            operand.kind = core.OperandKind.TEMPORARY  # handed on; what a module made of it
        return operand

    def _of_sum(self, operand: core.Operand) -> str:
        """What Python's ``sum`` has added up so far, as the program's line writes it; "" for anything else."""
        frame = self.frames[self.place] if 0 <= self.place < len(self.frames) else None
        node = frame.node if frame is not None else None
        is_sum = isinstance(node, ast.Call) and frame is not None and frame.scope.value(node.func) is sum
        return "sum(...)" if is_sum and operand.role == "self" else ""

    def _as_given(self, operand: core.Operand, tracked: Tracked) -> None:
        """What the program's call passes on for it to a library, and what has its device there."""
        operand.asked = self.call.asked(tracked)
        given = self.call.given(tracked)
        if given is not None:
            operand.given, operand.given_in = list(given.names), given.kept_in

    def _is_view(self, root: ast.AST, at: Expression, frame: Frame, tracked: Tracked) -> bool:
        """Whether what ``at`` makes of ``root`` is ``root`` itself or a view of it, and so may be called by its name.

        By its memory where the core knew that, else by the methods that are called on it.
        """
        held = frame.scope.value(root)
        if is_tensor(held) and tracked.storage and memory_of(held) == tracked.storage:
            return True
        return is_view_of(at.node, root)

    def _seen(self, tracked: Tracked) -> tuple[Expression | None, Frame | None]:
        if not tracked.at:
            return None, None
        number = self.place if self.place in tracked.at else max(tracked.at)
        return tracked.at[number], self.frames[number]

    def _held(self, tracked: Tracked) -> object:
        """The operand, or the tensor that it is made from: ``parameter`` of ``parameter.detach()``."""
        at, frame = self._seen(tracked)
        return self._value(at, frame, tracked)[0] if at is not None and frame is not None else tracked.value

    def _value(self, at: Expression, frame: Frame, tracked: Tracked) -> tuple[object, ast.AST | None]:
        """The tensor that ``at`` stands for; or one that it is made from without leaving its device, and its node."""
        value = at.value(frame)
        if is_tensor(value) or at.path:
            return (value if is_tensor(value) else tracked.value), None
        # What is elsewhere as a whole was moved while the exception passed; a part that is elsewhere was moved here.
        now = [each.device for each in (tracked.placement, at.placement(frame)) if each is not None]
        for root in (root_of(at.node), only_tensor(at.node, frame)):
            held = frame.scope.value(root)
            placed = placement_of(held) if is_tensor(held) else None
            if placed is not None and (tracked.placement is None or placed.device in now):
                return held, root
        part = held_in(at.node, frame)
        return (frame.scope.value(part) if part is not None else tracked.value), None

    def _placed(self, operand: core.Operand, own: Placement | None, seen: Placement | None) -> None:
        placement = seen or own
        if placement is None:
            return
        operand.device = core.Device(placement.device)
        best = own if own is not None and own.device == placement.device else placement
        if best.dtype is not None:
            operand.dtype = best.dtype
        if best.shape is not None:
            operand.shape = list(best.shape)
            count = 1
            for size in best.shape:
                count *= size
            operand.bytes = count * _SIZES.get(best.dtype or "", 4)

    def _in_object(self, operand: core.Operand, value: object) -> None:
        member = lone_member(value, self.frames) if str(operand.device).startswith("cuda") else None
        if member is not None:
            operand.member, operand.member_of = member.expression, member.owner
            operand.member_home = core.Device(member.home)
            if member.given is not None:
                operand.member_given = member.given

    def _without_effect(self, operand: core.Operand, at: Expression, frame: Frame, others: Sequence[Seen]) -> None:
        """Notes the move that the program wrote for ``operand`` and that moved nothing, so that it met ``others``."""
        seen = Seen(at.plain().node, self.frames.index(frame), str(operand.device))
        if not operand.copies:
            found = self.moves.dropped(seen, {each.device for each in others})
            operand.copies = [found] if found is not None else self.moves.dropped_of_holder(seen)
        across = seen.device != "cpu" and others[0].device != "cpu"
        idle = self.moves.idle(seen, others[0]) if across and not operand.copies else None
        if idle is not None:
            operand.provenance = with_last_word(operand.provenance, idle)


def _name_device(operand: core.Operand, all_of_them: Sequence[core.Operand]) -> None:
    """Says what the function that loaded ``operand`` calls the device of the one that it meets."""
    placed = operand.placement
    if placed is None or placed.kind != core.EventKind.LOADED or not operand.kept_as:
        return
    for other in all_of_them:
        if str(other.device) != str(operand.device):
            operand.device_there = device_there(placed, str(other.device), other.placement)
            return


def _few(operands: Sequence[Tracked]) -> list[Tracked]:
    """Returns the first operands, and the first of each device that none of these is on: lists may be long."""
    few = list(operands[:_MOST])
    devices = {each.placement.device for each in few if each.placement is not None}
    for each in operands[_MOST:]:
        if each.placement is not None and each.placement.device not in devices:
            devices.add(each.placement.device)
            few.append(each)
    return few


def _grad(tensor: Any) -> tuple[bool, bool]:
    try:
        return bool(tensor.requires_grad), bool(tensor.is_leaf)
    except Exception:
        return False, True
