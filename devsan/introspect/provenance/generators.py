"""A random generator: what the program calls it, and which statement handed it to torch's object that draws with it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from devsan import core
from devsan.introspect.frames.expressions import Expression
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.only_calls import only_call_of
from devsan.introspect.frames.places import place_in
from devsan.introspect.frames.roots import held_as
from devsan.introspect.frames.scopes import spot_of
from devsan.introspect.frames.tracking import Tracked
from devsan.introspect.frames.values import own_dict

_DRAWS = "DataLoader"  # hands its generator on to what it makes: samplers, iterators


def named_by_program(operands: Sequence[Tracked], frames: Sequence[Frame]) -> list[Tracked]:
    """Returns ``operands``; a generator that only torch's frames have a name for is called as the program calls it."""
    for tracked in operands:
        number = max(tracked.at, default=-1)
        if not tracked.offending or number < 0 or frames[number].whose is not Whose.HIDDEN:
            continue
        held = held_as(tracked.at[number].value(frames[number]), frames)
        if held is not None:
            tracked.at = {held[0]: Expression(held[1], role="generator")}
    return list(operands)


def handed_over(generator: Any, frames: Sequence[Frame], place: int) -> core.Event | None:
    """Returns the program's only statement that gave ``generator`` to what torch's frames draw with; None: not known.

    Args:
        generator: a torch.Generator.
        frames: of the traceback, outermost first.
        place: the number of the frame to show.
    """
    inside = [frame for frame in frames[place + 1 :] if frame.whose is Whose.HIDDEN]
    holders = [value for frame in inside for value in list(frame.scope.locals.values())
               if any(held is generator for held in list(own_dict(value).values()))]  # fmt: skip
    near = spot_of(frames, place)
    for name in dict.fromkeys([*(type(each).__name__ for each in holders), _DRAWS]):
        found = only_call_of(name, near) if holders else None
        given = next((word for word in found[0].keywords if word.arg == "generator"), None) if found else None
        if found is None or given is None:
            continue
        spot = found[1]
        ends = (given.lineno, given.end_lineno, given.col_offset, given.end_col_offset)
        where = place_in(spot.file, spot.function, *ends)
        text = f"generator={ast.unparse(given.value)}"
        # With the same seed, and a stream of its own.
        own = f"generator=torch.Generator().manual_seed({ast.unparse(given.value)}.initial_seed())"
        event = core.Event(kind=core.EventKind.SHARED, device=str(generator.device), op=name, stack=[where])
        on_host = str(generator.device) != "cpu" and isinstance(given.value, (ast.Name, ast.Attribute))
        if on_host and where.source.count(text) == 1 and "torch" in (spot.globals or {}):
            event.amended = where.source.replace(text, own)
        return event
    return None
