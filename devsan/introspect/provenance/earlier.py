"""Whether something was made in an earlier call of the function that failed, or of one that called it.

What a call is given exists before the call begins. So what was placed before the newest of that, by a stack that went
through the same function, was placed by an earlier call of it: something has kept it since.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from devsan import core
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.scopes import spot_of
from devsan.introspect.frames.tensors import is_tensor
from devsan.introspect.frames.values import is_a
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.introspect.source.sources import nodes_in

EARLIER, THIS = 0, 1  # numbers of calls: only their order is known
_MANY = 16
_FRAMES = 8


def count_calls(reader: ProvenanceReader, frames: Sequence[Frame], place: int, operands: Sequence[core.Operand]) -> int:
    """Marks the events of ``operands`` (the core's) that an earlier call made. Returns this call's number, or -1."""
    if place < 0:
        return -1
    began = _beginnings(reader, frames, place)
    found = -1
    for operand in operands:
        provenance = list(operand.provenance)
        for number, event in enumerate(provenance):
            if event.sequence <= 0 or event.kind in (core.EventKind.COMPUTED, core.EventKind.SHARED):
                continue
            if any(event.sequence < time and any(_is(each, frame) for each in event.stack) for frame, time in began):
                provenance[number] = copy(event)
                provenance[number].step = EARLIER
                found = THIS
            break  # the placement that decides
        if found == THIS:
            operand.provenance = provenance
    return found


def _beginnings(reader: ProvenanceReader, frames: Sequence[Frame], place: int) -> list[tuple[Frame, int]]:
    """The frame at ``place`` and the program's own around it, each with a time at which its call had not begun."""
    found: list[tuple[Frame, int]] = []
    for number in range(place, -1, -1):
        if len(found) == _FRAMES:
            break
        if number == place or frames[number].whose is Whose.PROGRAM:
            numbers = [reader.origin_of(tensor)[0] for tensor in _given(frames, number)]
            # Of what was dropped the time is not known.
            time = max((2 * each for each in numbers if core.placement(each) is not None), default=0)
            found.append((frames[number], time))
    return found


def _is(frame: core.Frame, site: Frame) -> bool:
    return bool(frame.file == site.file and frame.function == site.function)


def _given(frames: Sequence[Frame], place: int) -> Iterator[Any]:
    """Yields the tensors among the parameters of frame ``place`` that it has not bound again."""
    frame = frames[place]
    code = frame.code
    names = nodes_in(spot_of(frames, place).tree, ast.Name)
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    values = [frame.scope.locals.get(name) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
              if name not in stored and name not in ("self", "cls")]  # fmt: skip
    for outer in frames[max(place - 2, 0) : place]:
        if outer.code.co_name == "_call_impl" and code.co_name == "forward":
            values += [outer.scope.locals.get("args"), outer.scope.locals.get("kwargs")]
    for value in values:
        yield from _tensors(value)


def _tensors(value: Any) -> Iterator[Any]:
    if is_tensor(value):
        yield value
    elif is_a(value, list, tuple):
        yield from (each for each in list(value)[:_MANY] if is_tensor(each))
    elif is_a(value, dict):
        yield from (each for each in list(dict.values(value))[:_MANY] if is_tensor(each))
