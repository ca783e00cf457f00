"""What a function that placed one tensor calls the device of another: ``restore(path, device)`` loads to a third."""

from __future__ import annotations

import ast

from devsan import core
from devsan.introspect.frames.scopes import spot_in
from devsan.introspect.provenance.device_values import say_value

_WORDS = ("dev", "gpu", "cuda")


def device_there(event: core.Event, device: str, other: core.Event | None) -> str:
    """Returns the parameter of the function of ``event`` that was given ``device``; "" where the source shows none.

    Args:
        event: that placed a tensor elsewhere.
        device: of the other tensor.
        other: that placed the other one.
    """
    frames = [each for each in event.stack if not each.package]
    spot = spot_in(frames[0]) if frames else None
    arguments = getattr(spot.tree, "args", None) if spot is not None else None
    if not isinstance(arguments, ast.arguments):
        return ""
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        name = each.arg
        if not any(word in name.lower() for word in _WORDS) or name == event.device_text:
            continue
        said = core.Event(device_text=name, stack=frames)
        say_value(said)
        value = str(said.device_value)
        same = other is not None and (value, said.device_value_at) == (other.device_value, other.device_value_at)
        if value and (same or value == f'"{device}"'):
            return name
    return ""
