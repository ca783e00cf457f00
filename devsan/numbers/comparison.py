"""Whether two runs of a program computed the same. See NOTE [What is observed] in ``observer``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOLERANCES = {"float64": 1e-7, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}
"""Relative to the largest number of the tensor. Both runs use the same CPU kernels, so that only the order of sums
differs: torch.testing's own tolerances (torch/testing/_comparison.py) are about as wide."""

_DEFAULT_TOLERANCE = 1e-2

KINDS = {
    "loss": "losses", "gradients": "gradients", "steps": "steps", "weights": "weights", "output": "outputs",
    "value": "values", "state": "final values",
}  # fmt: skip

_FACTS = {"steps": "learning rates", "output": "modules in training mode and outputs that require gradients"}

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
    """Returns the events that each process left in ``folder``, by the file's name.

    A last line that is cut off counts as not there.
    """
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
        counts = [sum(event["events"] for event in each if event["kind"] == "end") for each in (events, other[process])]
        if counts[0] != counts[1]:
            return Comparison(compared, f"expected {counts[0]} results, got {counts[1]}")
    compared = {kind: count for kind, count in compared.items() if count}
    if not compared:
        return Comparison(compared, impossible="the program computes no loss, gradient or output that can be observed")
    return Comparison(compared)


def _in_order(kind: str, expected: Sequence[Event], got: Sequence[Event], compared: dict[str, int]) -> str:
    if len(expected) != len(got):
        return f"expected {len(expected)} {KINDS[kind] if len(expected) != 1 else kind}, got {len(got)}"
    for number, (one, other) in enumerate(zip(expected, got, strict=True), start=1):
        if one.get("facts") != other.get("facts"):
            return f"{kind} {number}: expected {_FACTS[kind]} {one.get('facts')}, got {other.get('facts')}"
        if len(one["tensors"]) != len(other["tensors"]):
            return f"{kind} {number}: expected {len(one['tensors'])} tensors, got {len(other['tensors'])}"
        for place, (mine, its) in enumerate(zip(one["tensors"], other["tensors"], strict=True)):
            difference = _differ(mine, its)
            if difference:
                return f"{kind} {number}, tensor {place}: {difference}"
            compared[kind] = compared.get(kind, 0) + (mine is not None and not varies(mine))
    return ""


def _by_name(expected: Sequence[Event], got: Sequence[Event], compared: dict[str, int]) -> str:
    others = {name: tensor for event in got for name, tensor in zip(event["names"], event["tensors"], strict=True)}
    for event in expected:
        for name, mine in zip(event["names"], event["tensors"], strict=True):
            if name not in others:
                return f"expected a tensor {name} at the end, got none"
            difference = _differ(mine, others[name])
            if difference:
                return f"{name} at the end: {difference}"
            compared["state"] = compared.get("state", 0) + (mine is not None and not varies(mine))
    return ""


def _differ(mine: Mapping[str, Any] | None, its: Mapping[str, Any] | None) -> str:
    """How two digests differ; "" where they do not."""
    if varies(mine):
        return ""
    if mine is None or its is None:
        return "" if mine is its else f"expected {'no' if mine is None else 'a'} tensor"
    if mine["shape"] != its["shape"] or mine["dtype"] != its["dtype"]:
        return f"expected {_kind(mine)}, got {_kind(its)}"
    tolerance = 0.0 if mine["exact"] else TOLERANCES.get(mine["dtype"], _DEFAULT_TOLERANCE)
    finite = [abs(value) for value in mine["values"] if math.isfinite(value)]
    # Of a large tensor sum, norm and product are kept: the norm is the scale of their rounding. The sum would be a
    # larger one, which hides a few wrong elements.
    scale = max(finite, default=0.0) if mine["whole"] or not finite else abs(mine["values"][1])
    for one, other in zip(mine["values"], its["values"], strict=True):
        same = one == other or (math.isnan(one) and math.isnan(other))
        if not same and not abs(one - other) <= tolerance * max(scale, 1e-12):
            return f"expected {one:.6g}, got {other:.6g}"
    return ""


def varies(digest: Mapping[str, Any] | None) -> bool:
    """Returns whether ``without_noise`` found that the value is another one in each run."""
    return digest is not None and "varies" in digest


def without_noise(
    reference: Mapping[str, Sequence[Event]], again: Mapping[str, Sequence[Event]]
) -> tuple[dict[str, list[Event]], str]:
    """Returns the numbers of ``reference`` with those marked that are others in a second run of the same program.

    Values and final values may vary: a time, a path, a seed that is printed. Where a loss, a gradient, a weight or an
    output does, nothing can be compared, and the second result says which, as one sentence.
    """
    found: dict[str, list[Event]] = {}
    for process, events in reference.items():
        found[process] = []
        others: dict[str, list[Event]] = {}
        for event in again.get(process, ()):
            others.setdefault(event["kind"], []).append(event)
        for event in events:
            waiting = others.get(event["kind"])
            other = waiting.pop(0) if waiting else {}
            digests = list(event.get("tensors", ()))
            its = list(other.get("tensors", ()))
            if len(its) != len(digests) or other.get("names") != event.get("names"):
                return found, f"expected {len(digests)} tensors of kind {event['kind']} again, got {len(its)}"
            for place, (mine, second) in enumerate(zip(digests, its, strict=True)):
                difference = _differ(mine, second)
                if difference and event["kind"] not in ("value", "state"):
                    return found, f"{event['kind']}, tensor {place}: {difference}"
                if difference and mine is not None:
                    digests[place] = {**mine, "varies": True}
            found[process].append({**event, "tensors": digests} if digests else event)
    return found, ""


def _kind(tensor: Mapping[str, Any]) -> str:
    return f"{tensor['dtype']}[{','.join(map(str, tensor['shape']))}]"
