"""The original of what ``copy.deepcopy`` copied: a copy is where that was, and someone placed it there."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from devsan import core
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.scopes import spot_of
from devsan.introspect.frames.tensors import is_module, memory_of
from devsan.introspect.models.referrers import tensors_within
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.introspect.source.sources import bindings_in, expression

_DEEP = 4  # steps into what was copied
_MOST = 1 << 14  # tensors and containers of it


def through_copy(
    events: Sequence[core.Event], tensor: Any, frames: Sequence[Frame], reader: ProvenanceReader
) -> list[core.Event]:
    """Returns the provenance of ``tensor`` with that of its original behind the copy, where both are still held.

    Only of what an object or a container holds that is no module: a copied model is a model of its own, and where it
    is copied is a decision about it. So it is of a tensor.

    Args:
        events: the provenance of ``tensor``, newest first.
        tensor: that was copied with the object that holds it.
        frames: of the traceback, outermost first.
        reader: reads the original's.
    """
    copied = next((event for event in events if event.kind == core.EventKind.MADE), None)
    if copied is None or copied is not events[0] or not any(each.function == "deepcopy" for each in copied.stack):
        return list(events)
    original = _original_of(tensor, frames)
    found = reader.of(original[1]) if original is not None and str(original[1].device) == str(copied.device) else []
    if original is None or not found:
        return list(events)
    here = core.Event(kind=core.EventKind.COMPUTED, device=copied.device, op="copy.deepcopy", stack=copied.stack,
                      followed=original[0], sequence=copied.sequence)  # fmt: skip
    return [here, *found]


def _original_of(tensor: Any, frames: Sequence[Frame]) -> tuple[str, Any] | None:
    """What a running function has copied, and the part of it of which ``tensor`` is the copy."""
    for number, frame in enumerate(frames):
        if frame.whose is not Whose.PROGRAM:
            continue
        spot = spot_of(frames, number)
        for line, target, value, is_element in bindings_in(spot.tree):
            if not isinstance(value, ast.Call) or len(value.args) != 1 or is_element or line >= spot.line:
                continue
            if not ast.unparse(value.func).endswith("deepcopy"):
                continue
            copy, source = frame.scope.value(expression(target)), frame.scope.value(value.args[0])
            original = None if is_module(copy) or is_module(source) else _counterpart(tensor, copy, source)
            if original is not None:
                return ast.unparse(value.args[0]), original
    return None


def _counterpart(tensor: Any, copy: Any, source: Any) -> Any:
    """What ``source`` has where its copy has ``tensor``; None where the copy does not hold it."""
    paths = (path for path, each in tensors_within(copy, "", _DEEP, [_MOST])
             if each is tensor or memory_of(each) == memory_of(tensor) is not None)  # fmt: skip
    wanted = next(paths, None)
    return next((each for path, each in tensors_within(source, "", _DEEP, [_MOST]) if path == wanted), None)
