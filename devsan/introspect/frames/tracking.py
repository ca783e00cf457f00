"""The operands of the failing operation, followed from torch's innermost frame out to the source that a user knows."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import BuiltinFunctionType
from typing import cast

from devsan.diagnostics.placement import Placement
from devsan.introspect.frames.binding import is_made_here, parameter_of, step_out
from devsan.introspect.frames.expressions import Expression, operands_at
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.matching import match
from devsan.introspect.frames.module_tree import tensors_below
from devsan.introspect.frames.tensors import is_module, is_tensor, memory_of, placement_of
from devsan.introspect.frames.values import MISSING, Step, is_a


@dataclass(eq=False)
class Tracked:
    """One operand on its way outwards.

    Attributes:
        role: what torch calls it.
        placement: where it is.
        place: its position among the operator's arguments.
        offending: whether torch names it as the one in the wrong place.
        value: the tensor, when a variable holds it.
        at: its expression in each frame that it could be followed to, by the frame's position.
        parameter: its name as a parameter of the outermost of torch's functions.
        origin: the number of the placement that decided where it is and what computed it there, as the core kept them
            at the refusal; (0, "") when it did not.
        is_itself: whether ``value`` is the tensor that torch was given, not what that was made from.
        storage: where its bytes are kept, as the core knew at the refusal; 0 where it did not, or it has none.
    """

    role: str | None
    placement: Placement | None
    place: int = 0
    offending: bool = False
    value: object = MISSING
    at: dict[int, Expression] = field(default_factory=dict)
    parameter: str | None = None
    origin: tuple[int, str] = (0, "")
    is_itself: bool = False
    storage: int = 0

    def see(self, expression: Expression, place: int, frame: Frame) -> None:
        """Notes that the operand is ``expression`` in ``frame``, the traceback's frame number ``place``."""
        self.at[place] = expression
        value = expression.value(frame)
        if is_tensor(value) and self.value is MISSING:
            self.value, self.is_itself = value, len(self.at) == 1
            own = placement_of(value)  # its own shape, before torch flattened it
            if own is not None and (self.placement is None or own.device == self.placement.device):
                self.placement = own

    def placement_at(self, place: int, frame: Frame) -> Placement | None:
        """Returns where it is and its shape as ``frame`` sees it."""
        value = self.at[place].value(frame)
        now = placement_of(value) if is_tensor(value) else None
        if now is None or self.placement is None:
            return now or self.placement
        if self.is_itself and value is self.value and self.origin != (0, ""):
            return replace(now, device=self.placement.device)  # a trainer's clean-up may have moved it since
        return now


def site_of(frames: Sequence[Frame]) -> int:
    """Returns the position of the frame to show: the innermost that is neither torch's nor a mere wrapper."""
    outside = [place for place, frame in enumerate(frames) if frame.whose is not Whose.HIDDEN]
    for place in reversed(outside):  # `forwards` parses the file, so only as far as needed
        if not frames[place].forwards:
            return place
    return outside[-1] if outside else len(frames) - 1


def follow(operands: list[Tracked], frames: Sequence[Frame], outermost: int) -> None:
    """Finds each operand in the frames from the innermost out to number ``outermost``."""
    for place in reversed(range(outermost, len(frames))):
        frame = frames[place]
        called_back = _calls_back(frames, place)
        if place + 1 < len(frames) and not called_back:
            callee = frames[place + 1]
            for operand in operands:
                inner = operand.at.get(place + 1)
                if inner is None:
                    continue
                if callee.whose is Whose.HIDDEN and not callee.forwards:
                    operand.parameter = parameter_of(inner, callee) or operand.parameter
                found = step_out(inner, callee, frame)
                if found is not None and not is_made_here(inner, callee, found, frame):
                    operand.see(found, place, frame)
        lost = [operand for operand in operands if place not in operand.at]
        if lost:
            taken = [operand.at[place] for operand in operands if place in operand.at]
            free = [found for found in operands_at(frame) if all(found != other for other in taken)]
            seen_before = any(operand.at for operand in operands)
            strict = (seen_before or place + 1 < len(frames)) and not called_back
            for operand, found in match(lost, free, frame, strict):
                operand.see(found, place, frame)
            _see_what_was_given(operands, frames, place)


def _calls_back(frames: Sequence[Frame], place: int) -> bool:
    """Whether a function of torch's in C++, which frame number ``place`` calls, has called the next frame: it gives
    that other tensors than it was given. Kernels for the meta device are in Python."""
    frame = frames[place]
    if frame.whose is Whose.HIDDEN or place + 1 >= len(frames) or frames[place + 1].whose is not Whose.HIDDEN:
        return False
    function = frame.scope.value(frame.node.func) if isinstance(frame.node, ast.Call) else MISSING
    return type(function) is BuiltinFunctionType


def _see_what_was_given(operands: Sequence[Tracked], frames: Sequence[Frame], place: int) -> None:
    """Finds an operand that a function of torch's has a variable of its own for by what the function was given.

    ``F.l1_loss`` calls it ``expanded_input``, ``einsum`` ``operands[1]``: an argument, or a view of one.
    """
    frame = frames[place]
    if place + 1 >= len(frames) or frames[place + 1].whose is not Whose.HIDDEN or frame.whose is Whose.HIDDEN:
        return
    callee = frames[place + 1]
    for operand in operands:
        if place in operand.at or not operand.at or not operand.storage:
            continue
        given = [each for each in _given_to(callee) if memory_of(each.value(callee)) == operand.storage]
        found = step_out(given[0], callee, frame) if len(given) == 1 else _only_argument_there(operand, frame)
        if found is not None and all(other.at.get(place) != found for other in operands):
            operand.see(found, place, frame)


def _only_argument_there(operand: Tracked, frame: Frame) -> Expression | None:
    """The argument of a module's call of which torch's own code has made ``operand``: the only one on its device.

    An attention mask is made of a padding mask. None where the module has weights there, which it may be made of.
    """
    called = frame.scope.value(frame.node.func) if isinstance(frame.node, ast.Call) else MISSING
    if frame.whose is not Whose.PROGRAM or operand.placement is None or not is_module(called):
        return None
    device = operand.placement.device
    if any(str(tensor.device) == device for _, tensor in tensors_below(called)):
        return None
    given = [(each, placement_of(each.value(frame))) for each in operands_at(frame) if is_tensor(each.value(frame))]
    there = [each for each, placed in given if placed is not None and placed.device == device]
    return there[0] if len(there) == 1 < len(given) else None


def _given_to(frame: Frame) -> Iterator[Expression]:
    """The tensors among the arguments of the function of ``frame``, and in lists of them."""
    code = frame.code
    names = [*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], *filter(None, frame.varargs)]
    waiting = [Expression(ast.Name(name, ast.Load())) for name in names]
    while waiting:
        each = waiting.pop(0)
        value = each.value(frame)
        if is_tensor(value):
            yield each
        elif len(each.path) < 2 and is_a(value, list, tuple):
            count = len(cast(tuple[object, ...], value))
            waiting += [Expression(each.node, (*each.path, Step(number))) for number in range(count)]


def untraced(frames: Sequence[Frame]) -> Sequence[Frame]:
    """Returns ``frames`` without those of torch.compile's tracer: its expressions stand for the program's own. So does
    what a mode of torch's (``torch.set_default_device``) calls in place of the program: ``func(*args, **kwargs)``."""
    while len(frames) > 1 and frames[-1].whose is Whose.HIDDEN and frames[-1].code.co_name == "__torch_function__":
        frames = frames[:-1]
    for place, frame in enumerate(frames):
        if frame.file.endswith(os.path.join("_dynamo", "convert_frame.py")):
            own = [number for number in range(place) if frames[number].whose is not Whose.HIDDEN]
            return frames[: own[-1] + 1] if own else frames
    return frames


def present_at(frame: Frame, argument: str | None = None) -> list[Tracked]:
    """Returns the tensors that the failing expression of ``frame`` works on, when nothing else knows the operands.

    Args:
        frame: of the call that failed.
        argument: what torch calls the offending one; a variable of that name is it.
    """
    found = []
    for place, expression in enumerate(operands_at(frame)):
        placement = expression.placement(frame)
        if placement is not None:
            named = argument if expression.text(frame) == argument else None
            role = expression.role if isinstance(expression.role, str) else named
            found.append(Tracked(role, placement, place))
    return found
