"""What a refusal is about when it is not about the devices of tensors: a generator, a device that is not there."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from devsan.introspect.frames.expressions import Expression, arguments_of
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.inference import infer
from devsan.introspect.frames.roots import held_as
from devsan.introspect.frames.tensors import is_tensor
from devsan.introspect.frames.values import MISSING, own_dict

_ORDINAL = re.compile(r"(?:cuda:)?(\d+)")
_TAKES_ORDINAL = re.compile(r"(?:\.cuda|\.to|device\w*|cuda\.\w+)$")  # where a bare number means a GPU


@dataclass(frozen=True)
class Subject:
    """An argument that a refusal is about, with the device that it names or is on."""

    expression: Expression
    device: str
    offending: bool


def device_count() -> int | None:
    """Returns how many GPUs torch sees in this process, None when it does not say."""
    torch = sys.modules.get("torch")
    try:
        return int(torch.cuda.device_count()) if torch is not None else None
    except Exception:
        return None


def ordinal_in(frame: Frame, count: int | None) -> Subject | None:
    """Returns the argument of the failing call that names a GPU beyond the ``count`` there are."""
    found = []
    for argument in arguments_of(frame):
        index = _ordinal(argument, frame)
        if index is not None and (count is None or index >= count):
            found.append(Subject(argument, f"cuda:{index}", offending=True))
    return found[0] if len(found) == 1 else None


def generator_of_call(frames: Sequence[Frame], place: int, generator: str, wanted: str) -> tuple[list[Subject], int]:
    """Returns what ``generator_in`` finds in frame ``place``, or in the first of it, and its number."""
    for number in range(place, len(frames)):
        found = generator_in(frames[number], generator, wanted)
        if any(subject.offending for subject in found):
            return found, number
    return _held_generator(frames, place, generator)


def _held_generator(frames: Sequence[Frame], place: int, generator: str) -> tuple[list[Subject], int]:
    """Returns the generator that a frame inside of ``place`` uses by itself (a DataLoader's), by the program's name."""
    for frame in frames[place:]:
        for value in list(frame.scope.locals.values()):
            held = value if _is_a(value, "Generator") else own_dict(value).get("generator")
            if not _is_a(held, "Generator"):
                continue
            device = str(held.device)  # type: ignore[union-attr]
            if not device.startswith(generator):
                continue
            known = held_as(held, frames[: place + 1])
            if known is not None:
                return [Subject(Expression(known[1], role="generator"), device, offending=True)], known[0]
    return [], place


def generator_in(frame: Frame, generator: str, wanted: str) -> list[Subject]:
    """Returns the generator of the failing call and what asks for another device, in the order of the source."""
    found = []
    for argument in arguments_of(frame):
        value = argument.value(frame)
        if argument.role == "generator" or _is_a(value, "Generator"):
            device = str(value.device) if _is_a(value, "Generator") else generator  # type: ignore[attr-defined]
            found.append(Subject(argument, device, offending=True))
        elif argument.role == "device":
            text = value if type(value) is str else str(value) if _is_a(value, "device") else wanted
            found.append(Subject(argument, text, offending=False))
        elif is_tensor(value) or (value is MISSING and argument.role == "self"):
            placement = argument.placement(frame) or infer(argument.node, frame.scope)
            if placement is not None and placement.is_on(wanted):
                found.append(Subject(argument, str(placement), offending=False))
    return found


def _ordinal(argument: Expression, frame: Frame) -> int | None:
    value = argument.value(frame)
    node = argument.node
    if value is MISSING and isinstance(node, ast.Call) and frame.segment(node.func).endswith("device"):
        parts = [frame.scope.value(piece) for piece in node.args]  # torch.device("cuda", 7)
        value = parts[-1] if parts else MISSING
    if _is_a(value, "device"):
        value = str(value)
    if type(value) is int:
        function = frame.segment(frame.node.func) if isinstance(frame.node, ast.Call) else ""
        return value if argument.role == "device" or _TAKES_ORDINAL.search(function) else None
    match = _ORDINAL.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def _is_a(value: object, name: str) -> bool:
    torch = sys.modules.get("torch")
    kind = getattr(torch, name, None)
    return isinstance(kind, type) and issubclass(type(value), kind)
