"""Whether two runs of a program computed the same. See NOTE [What is observed] in ``observer``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devsan.diagnostics.messages import Message, message, plural

TOLERANCES = {"float64": 1e-7, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}
"""Relative to the largest number of the tensor. Both runs use the same CPU kernels, and only the order of sums differs:
torch.testing's own tolerances (torch/testing/_comparison.py) are about as wide."""

_DEFAULT_TOLERANCE = 1e-2

_NOISE = 1e-3
"""Of the largest number of an event's tensors: smaller ones are compared as if they were that large. The gradient of a
key's bias is zero by mathematics, and its rounding depends on the order of sums."""

KINDS = {
    "loss": message("loss"), "gradients": message("gradients"), "weights": message("weights"),
    "output": message("output"), "state": message("final value"),
}  # fmt: skip

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """What comes of comparing two runs.

    Attributes:
        compared: how many tensors of each kind were found equal.
        difference: the first difference, as one sentence; "" where all is equal.
        impossible: why nothing can be said, as one sentence; "" where it can.
    """

    compared: Mapping[str, int]
    difference: str = ""
    impossible: str = ""

    @property
    def equal(self) -> bool:
        """Returns whether something was compared and nothing differs."""
        return not self.difference and not self.impossible


def read_events(folder: Path) -> dict[str, list[Event]]:
    """Returns the events that each process left in ``folder``, by the file's name, up to a line that is cut off."""
    found: dict[str, list[Event]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        events = found[path.stem] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                events.append(json.loads(line))
            except ValueError:
                break
    return found


def compare(reference: Mapping[str, Sequence[Event]], other: Mapping[str, Sequence[Event]]) -> Comparison:
    """Returns whether ``other`` computed all that ``reference`` did, process by process."""
    compared: dict[str, int] = {}
    for process, events in reference.items():
        if process not in other:
            return Comparison(compared, message("{process} computed nothing", process=process))
        for kind in KINDS:
            expected = [event for event in events if event["kind"] == kind]
            got = [event for event in other[process] if event["kind"] == kind]
            difference = (
                _by_name(expected, got, compared) if kind == "state" else _in_order(kind, expected, got, compared)
            )
            if difference:
                return Comparison(compared, difference)
    if not any(compared.values()):
        return Comparison(compared, impossible=message("no loss, gradient or output of the program can be observed"))
    return Comparison(compared)


def _in_order(kind: str, expected: Sequence[Event], got: Sequence[Event], compared: dict[str, int]) -> str:
    if len(expected) != len(got):
        return message("{kind}: {difference}", kind=KINDS[kind], difference=_counts(len(expected), len(got)))
    for number, (one, other) in enumerate(zip(expected, got, strict=True), start=1):
        if len(one["tensors"]) != len(other["tensors"]):
            counts = message("expected {one} tensors, got {other}", one=len(one["tensors"]),
                             other=len(other["tensors"]))  # fmt: skip
            return message("{kind} {number}: {difference}", kind=KINDS[kind], number=number, difference=counts)
        noise = _NOISE * max((_scale(each) for each in one["tensors"] if each is not None), default=0.0)
        for place, (mine, its) in enumerate(zip(one["tensors"], other["tensors"], strict=True)):
            difference = _differ(mine, its, noise)
            if difference:
                return message("{kind} {number}: {difference}", kind=KINDS[kind], number=number,
                               difference=_at(place, len(one["tensors"]), difference))  # fmt: skip
            compared[kind] = compared.get(kind, 0) + (mine is not None)
    return ""


def _by_name(expected: Sequence[Event], got: Sequence[Event], compared: dict[str, int]) -> str:
    others = {name: tensor for event in got for name, tensor in zip(event["names"], event["tensors"], strict=True)}
    for event in expected:
        named = list(zip(event["names"], event["tensors"], strict=True))
        gradients = (_scale(mine) for name, mine in named if mine is not None and name.endswith(".grad"))
        noise = _NOISE * max(gradients, default=0.0)
        for name, mine in named:
            if name not in others:
                return message("expected a tensor {name} at the end, got none", name=name)
            difference = _differ(mine, others[name], noise if name.endswith(".grad") else 0.0)
            if difference:
                return message("{name} at the end: {difference}", name=name, difference=difference)
            compared["state"] = compared.get("state", 0) + (mine is not None)
    return ""


def _scale(tensor: Mapping[str, Any]) -> float:
    """The largest of its numbers. Sum and product of a large tensor have terms up to its norm, the scale of their
    rounding."""
    return max((abs(value) for value in tensor["values"] if math.isfinite(value)), default=0.0)


def _differ(mine: Mapping[str, Any] | None, its: Mapping[str, Any] | None, noise: float = 0.0) -> str:
    """How two digests differ; "" where they do not. Numbers below ``noise`` are those of sums that cancel."""
    if mine is None or its is None:
        if mine is its:
            return ""
        return message("expected no tensor, got one") if mine is None else message("expected a tensor, got none")
    if mine["shape"] != its["shape"] or mine["dtype"] != its["dtype"]:
        return message("expected {one}, got {other}", one=_kind(mine), other=_kind(its))
    tolerance = 0.0 if mine["exact"] else TOLERANCES.get(mine["dtype"], _DEFAULT_TOLERANCE)
    scale = max(_scale(mine), noise)
    for one, other in zip(mine["values"], its["values"], strict=True):
        same = one == other or (math.isnan(one) and math.isnan(other))
        if not same and not abs(one - other) <= tolerance * max(scale, 1e-12):
            return message("expected {one}, got {other}", one=f"{one:.6g}", other=f"{other:.6g}")
    return ""


def _counts(one: int, other: int) -> Message:
    return plural("expected {n} time, got {other}", "expected {n} times, got {other}", one, other=other)


def _at(place: int, count: int, difference: str) -> str:
    return difference if count == 1 else message("tensor {place}: {difference}", place=place, difference=difference)


def _kind(tensor: Mapping[str, Any]) -> str:
    return f"{tensor['dtype']}[{','.join(map(str, tensor['shape']))}]"
