"""Whether two runs of a program computed the same. See NOTE [What is observed] in ``observer``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOLERANCES = {"float64": 1e-7, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}
"""Relative to the largest number of the tensor. Both runs use the same CPU kernels, and only the order of sums differs:
torch.testing's own tolerances (torch/testing/_comparison.py) are about as wide."""

_DEFAULT_TOLERANCE = 1e-2

_NOISE = 1e-3
"""Of the largest number of an event's tensors: smaller ones are compared as if they were that large. The gradient of a
key's bias is zero by mathematics, and its rounding depends on the order of sums."""

KINDS = {
    "loss": "losses", "gradients": "gradients", "weights": "weights", "output": "outputs", "state": "final values",
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
            return Comparison(compared, f"{process} computed nothing")
        for kind in KINDS:
            expected = [event for event in events if event["kind"] == kind]
            got = [event for event in other[process] if event["kind"] == kind]
            difference = (
                _by_name(expected, got, compared) if kind == "state" else _in_order(kind, expected, got, compared)
            )
            if difference:
                return Comparison(compared, difference)
    if not any(compared.values()):
        return Comparison(compared, impossible="the program computes no loss, gradient or output that can be observed")
    return Comparison(compared)


def _in_order(kind: str, expected: Sequence[Event], got: Sequence[Event], compared: dict[str, int]) -> str:
    if len(expected) != len(got):
        return f"expected {len(expected)} {KINDS[kind] if len(expected) != 1 else kind}, got {len(got)}"
    for number, (one, other) in enumerate(zip(expected, got, strict=True), start=1):
        if len(one["tensors"]) != len(other["tensors"]):
            return f"{kind} {number}: expected {len(one['tensors'])} tensors, got {len(other['tensors'])}"
        noise = _NOISE * max((_scale(each) for each in one["tensors"] if each is not None), default=0.0)
        for place, (mine, its) in enumerate(zip(one["tensors"], other["tensors"], strict=True)):
            difference = _differ(mine, its, noise)
            if difference:
                return f"{kind} {number}, tensor {place}: {difference}"
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
                return f"expected a tensor {name} at the end, got none"
            difference = _differ(mine, others[name], noise if name.endswith(".grad") else 0.0)
            if difference:
                return f"{name} at the end: {difference}"
            compared["state"] = compared.get("state", 0) + (mine is not None)
    return ""


def _scale(tensor: Mapping[str, Any]) -> float:
    """The largest of its numbers: of a large tensor sum and product are sums of terms up to the norm, which is the
    scale of their rounding."""
    return max((abs(value) for value in tensor["values"] if math.isfinite(value)), default=0.0)


def _differ(mine: Mapping[str, Any] | None, its: Mapping[str, Any] | None, noise: float = 0.0) -> str:
    """How two digests differ; "" where they do not. Numbers below ``noise`` are those of sums that cancel."""
    if mine is None or its is None:
        return "" if mine is its else f"expected {'no' if mine is None else 'a'} tensor"
    if mine["shape"] != its["shape"] or mine["dtype"] != its["dtype"]:
        return f"expected {_kind(mine)}, got {_kind(its)}"
    tolerance = 0.0 if mine["exact"] else TOLERANCES.get(mine["dtype"], _DEFAULT_TOLERANCE)
    scale = max(_scale(mine), noise)
    for one, other in zip(mine["values"], its["values"], strict=True):
        same = one == other or (math.isnan(one) and math.isnan(other))
        if not same and not abs(one - other) <= tolerance * max(scale, 1e-12):
            return f"expected {one:.6g}, got {other:.6g}"
    return ""


def _kind(tensor: Mapping[str, Any]) -> str:
    return f"{tensor['dtype']}[{','.join(map(str, tensor['shape']))}]"
