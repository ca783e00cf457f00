"""Whether two runs of a program computed the same. See NOTE [What is observed] in ``observer``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devsan.diagnostics.messages import Message, message, plural
from devsan.numbers.renamed_entries import RenamedEntries, has_number

TOLERANCES = {"float64": 1e-7, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}
"""Relative to the largest number of the tensor. Both runs use the same CPU kernels, and only the order of sums differs:
torch.testing's own tolerances (torch/testing/_comparison.py) are about as wide."""

_DEFAULT_TOLERANCE = 1e-2

NOISE = 1e-2
"""Of the largest number of an event's tensors: smaller ones are compared as if they were that large. The gradient of a
key's bias, or of one in front of a batch norm, is zero by mathematics; its rounding depends on the order of sums, and
is some 1e-7 of the largest gradient in float32."""

_OF_STEPS = frozenset({"loss", "gradients", "steps"})
"""Of these the largest number of any step so far counts: what a training brings near to zero keeps the rounding of what
it is the difference of."""

MARGIN = 10.0
"""Of what differs between two runs of the reference: NOTE [Noise that grows] in ``noise``."""

KINDS = {
    "loss": message("loss"), "gradients": message("gradients"), "steps": message("gradients of a step"),
    "weights": message("weights"), "output": message("output"), "value": message("value"),
    "state": message("final value"),
}  # fmt: skip

_FACTS = {
    "steps": message("learning rates"),
    "output": message("the training modes of modules and outputs that require gradients"),
}

Event = Mapping[str, Any]
Tensor = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """What comes of comparing two runs.

    Attributes:
        compared: how many tensors of each kind were found equal.
        difference: the first difference, as one sentence; "" where all is equal.
        impossible: why nothing can be said, as one sentence; "" where it can.
        differs: the kind of what differs first, one of ``KINDS``; "" where nothing does, or something else.
    """

    compared: Mapping[str, int]
    difference: str = ""
    impossible: str = ""
    differs: str = ""

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


def compare(
    reference: Mapping[str, Sequence[Event]],
    other: Mapping[str, Sequence[Event]],
    may_rest: bool = False,
    least: float = 0.0,
) -> Comparison:
    """Returns whether ``other`` computed all that ``reference`` did, process by process.

    Args:
        reference: events by process.
        other: likewise.
        may_rest: whether a tensor of ``other`` may have no values at the end: a weight that is offloaded.
        least: the least tolerance, of numbers that are not exact.
    """
    compared: dict[str, int] = {}
    for process, events in reference.items():
        if process not in other:
            return Comparison(compared, message("{process} computed nothing", process=process))
        for kind in KINDS:
            expected = [event for event in events if event["kind"] == kind]
            got = [event for event in other[process] if event["kind"] == kind]
            difference = (
                _by_name(expected, got, compared, may_rest, least)
                if kind == "state"
                else _in_order(kind, expected, got, compared, least)
            )
            if difference:
                return Comparison(compared, difference, differs=kind)
        counts = [sum(event["events"] for event in each if event["kind"] == "end") for each in (events, other[process])]
        if counts[0] != counts[1]:
            return Comparison(compared, message("expected {one} results, got {other}", one=counts[0], other=counts[1]))
    compared = {kind: count for kind, count in compared.items() if count}
    if not compared:
        return Comparison(compared, impossible=message("no loss, gradient or output of the program can be observed"))
    return Comparison(compared)


def _in_order(
    kind: str, expected: Sequence[Event], got: Sequence[Event], compared: dict[str, int], least: float
) -> str:
    if len(expected) != len(got):
        return message("{kind}: {difference}", kind=KINDS[kind], difference=_counts(len(expected), len(got)))
    largest = 0.0
    for number, (one, other) in enumerate(zip(expected, got, strict=True), start=1):
        if one.get("facts") != other.get("facts"):
            facts = message(
                "expected {what} {one}, got {other}", what=_FACTS[kind], one=_listed(one), other=_listed(other)
            )
            return message("{kind} {number}: {difference}", kind=KINDS[kind], number=number, difference=facts)
        if len(one["tensors"]) != len(other["tensors"]):
            counts = message("expected {one} tensors, got {other}", one=len(one["tensors"]),
                             other=len(other["tensors"]))  # fmt: skip
            return message("{kind} {number}: {difference}", kind=KINDS[kind], number=number, difference=counts)
        largest = largest_so_far(one, largest)
        noise = NOISE * largest
        its_tensors = other["tensors"]
        if kind == "gradients":
            its_tensors = _as_in(one["tensors"], its_tensors, noise, least)
        for place, (mine, its) in enumerate(zip(one["tensors"], its_tensors, strict=True)):
            difference = differ(mine, its, noise, least)
            if difference:
                return message("{kind} {number}: {difference}", kind=KINDS[kind], number=number,
                               difference=at(place, len(one["tensors"]), difference))  # fmt: skip
            compared[kind] = compared.get(kind, 0) + (mine is not None and not varies(mine))
    return ""


def largest_so_far(event: Event, before: float) -> float:
    """Returns about the largest element of the tensors of ``event``; of a training's step, of the earlier ones, too.

    Args:
        event: of a run.
        before: what this has returned for the event of its kind before it.
    """
    own = max((_element(each) for each in event.get("tensors", ()) if each is not None), default=0.0)
    return max(own, before if event["kind"] in _OF_STEPS else 0.0)


def _as_in(
    tensors: Sequence[Tensor | None], others: Sequence[Tensor | None], noise: float, least: float
) -> Sequence[Tensor | None]:
    """Returns ``others`` in the order of ``tensors``: leaves of a graph come in another one where a replica uses the
    weights of the module that was copied. As they are, where some have no like."""
    left = list(others)
    found = []
    for mine in tensors:
        like = next((place for place, its in enumerate(left) if not differ(mine, its, noise, least)), None)
        if like is None:
            return others
        found.append(left.pop(like))
    return found


def _by_name(
    expected: Sequence[Event], got: Sequence[Event], compared: dict[str, int], may_rest: bool, least: float
) -> str:
    others = {name: tensor for event in got for name, tensor in zip(event["names"], event["tensors"], strict=True)}
    named = [each for event in expected for each in zip(event["names"], event["tensors"], strict=True)]
    inside = {name for event in expected for name in event.get("facts") or ()}
    gradients = (scale_of(mine) for name, mine in named if mine is not None and name.endswith(".grad"))
    noise = NOISE * max(gradients, default=0.0)
    own = dict(named)

    def difference_of(name: str, its_name: str) -> str:
        if may_rest and others[its_name] is None:
            return ""
        return differ(own[name], others[its_name], noise if name.endswith(".grad") else 0.0, least)

    renamed = RenamedEntries(own, others, lambda name, its_name: not difference_of(name, its_name))
    for name, mine in named:
        its_name = name
        if name not in others or has_number(name):
            its_name = renamed.name_of(name) or name
        if its_name not in others and name in inside:
            continue
        if its_name not in others:
            return message("expected a tensor {name} at the end, got none", name=name)
        difference = difference_of(name, its_name)
        if difference:
            return message("{name} at the end: {difference}", name=name, difference=difference)
        compared["state"] = compared.get("state", 0) + (mine is not None and not varies(mine))
    return ""


def scale_of(tensor: Mapping[str, Any]) -> float:
    """Returns the largest of its numbers.

    Of a large tensor sum, norm and product are kept: the norm is the scale of their rounding. The sum would be a larger
    one, which hides a few wrong elements.
    """
    if not tensor["whole"] and math.isfinite(tensor["values"][1]):
        return abs(float(tensor["values"][1]))
    return max((abs(value) for value in tensor["values"] if math.isfinite(value)), default=0.0)


def _element(tensor: Mapping[str, Any]) -> float:
    """About the largest of its elements."""
    return scale_of(tensor) / (1.0 if tensor["whole"] else math.sqrt(math.prod(tensor["shape"])))


def differ(
    mine: Mapping[str, Any] | None, its: Mapping[str, Any] | None, noise: float = 0.0, least: float = 0.0
) -> str:
    """Returns how two digests differ; "" where they do not. Numbers below ``noise`` are those of sums that cancel."""
    if varies(mine):
        return ""
    if mine is None or its is None:
        if mine is its:
            return ""
        return message("expected no tensor, got one") if mine is None else message("expected a tensor, got none")
    if mine["shape"] != its["shape"] or mine["dtype"] != its["dtype"]:
        return message("expected {one}, got {other}", one=kind_of(mine), other=kind_of(its))
    tolerance = 0.0 if mine["exact"] else max(least, TOLERANCES.get(mine["dtype"], _DEFAULT_TOLERANCE))
    scale = max(scale_of(mine), noise)
    for one, other in zip(mine["values"], its["values"], strict=True):
        same = one == other or (math.isnan(one) and math.isnan(other))
        if not same and not abs(one - other) <= tolerance * max(scale, 1e-12) + MARGIN * mine.get("noise", 0.0):
            return message("expected {one}, got {other}", one=f"{one:.6g}", other=f"{other:.6g}")
    return ""


def _listed(event: Event) -> str:
    return ", ".join(map(str, event.get("facts") or ()))


def _counts(one: int, other: int) -> Message:
    return plural("expected {n} time, got {other}", "expected {n} times, got {other}", one, other=other)


def at(place: int, count: int, difference: str) -> str:
    """Returns the difference, with the tensor's place where there are several."""
    return difference if count == 1 else message("tensor {place}: {difference}", place=place, difference=difference)


def varies(digest: Mapping[str, Any] | None) -> bool:
    """Returns whether ``noise.without_noise`` found that the value is another one in each run."""
    return digest is not None and "varies" in digest


def kind_of(tensor: Mapping[str, Any]) -> str:
    """Returns dtype and shape, as reports show them."""
    return f"{tensor['dtype']}[{','.join(map(str, tensor['shape']))}]"
