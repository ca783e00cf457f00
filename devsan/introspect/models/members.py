"""The member of an object that is on another GPU than all else that the object has.

A sampler with a network and a device on one GPU was given a table of another one: whoever reads it fails, and what is
wrong is what the sampler was given, not the line that fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from devsan import core
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.only_calls import given_at_only_call
from devsan.introspect.frames.places import place_in
from devsan.introspect.frames.scopes import class_of, spot_of
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import MISSING, own_dict
from devsan.introspect.models.referrers import holds, tensors_of

_GPU = re.compile(r"cuda:\d+")
_MOST = 64  # members that are looked at


class Member(NamedTuple):
    """A member that is alone where it is.

    Attributes:
        expression: "self.schedule".
        owner: the class of the object that has it.
        home: the device of all else that the object has.
        given: the line that gave it to the constructor; None where that is not known.
    """

    expression: str
    owner: str
    home: str
    given: core.Frame | None


def lone_member(tensor: Any, frames: Sequence[Frame]) -> Member | None:
    """Returns the member that holds ``tensor``, of an object whose method is running; None without one.

    The object says its device itself, or has two members more than this one. Modules are none: what they hold moves
    with them, or is not registered.

    Args:
        tensor: on a GPU.
        frames: of the traceback, outermost first.
    """
    for number in reversed(range(len(frames))):
        frame = frames[number]
        owner = frame.scope.locals.get("self", MISSING) if frame.whose is Whose.PROGRAM else MISSING
        if owner is MISSING or is_module(owner) or is_tensor(owner):
            continue
        members = list(own_dict(owner).items())[:_MOST]
        holder = next((name for name, value in members if not is_module(value) and holds(value, tensor)), None)
        if holder is None:
            continue
        others = [value for name, value in members if name != holder]
        voting = [devices for devices in (set(_devices(value)) for value in others) if devices]
        home = set().union(*voting)
        if len(home) == 1 and str(tensor.device) not in home and (len(voting) > 1 or any(map(_said, others))):
            return Member(f"self.{holder}", type(owner).__name__, home.pop(), _given(holder, frames, number))
    return None


def _said(value: Any) -> str:
    """The GPU that a member names."""
    text = str(value) if isinstance(value, str) or type(value).__name__ == "device" else ""
    return text if _GPU.fullmatch(text) else ""


def _devices(value: Any) -> Iterator[str]:
    if _said(value):
        yield _said(value)
    elif is_module(value):
        yield from (str(each.device) for each in value.parameters())
    else:
        yield from (str(each.device) for each in tensors_of(value) if each.device.type != "cpu")


def _given(name: str, frames: Sequence[Frame], number: int) -> core.Frame | None:
    """The line that gave a member to its object: what the only call of the constructor was given for it."""
    for method in class_of(ast.Name("self", ast.Load()), spot_of(frames, number)):
        assigned = method.last_given(f"self.{name}")
        if assigned is None or not isinstance(assigned[0], ast.Name):
            continue
        given = given_at_only_call(method, assigned[0].id)
        if given is not None:
            node, spot = given
            return place_in(
                spot.file, spot.function, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
            )
    return None
