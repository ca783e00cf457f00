"""What differs between two runs of one program.

NOTE [Noise that grows] A backward pass over several GPUs has a thread for each of them, and the order in which their
gradients are added is another in each run. Training amplifies the last bit: after thirty steps two runs of one program
may differ by more than the tolerance. A tensor that differs between two runs of the reference by at most ``MOST_NOISE``
of its largest number (a gradient: of the largest of its step's gradients), where the first of its kind does not differ,
may differ by ``MARGIN`` times as much in the run of a candidate. Where the reference is the same in each run, the
candidate's own noise counts. What begins to differ in the first step is no noise of this kind.

NOTE [Noise of rounding] The gradient of the bias of attention's keys is zero by mathematics. What is computed is
rounding, which Adam divides by its own size: the bias takes whole steps in a direction that nobody chose, another one
wherever sums have another order, and nothing depends on it. So in its second run the gradients with which the
reference's backward passes begin are larger by two roundings. Weights that differ then, beside others that do not, are
left out. Their gradients are still compared, with the scale of all gradients of the step, in the second run as well: so
is that of a bias in front of a batch norm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from devsan.diagnostics.messages import message
from devsan.numbers.comparison import KINDS, NOISE, Event, at, differ, kind_of, largest_so_far, scale_of

MOST_NOISE = 1e-2
"""Of the largest number of a tensor."""

_GRADIENTS = frozenset({"gradients", "steps"})


def without_noise(
    reference: Mapping[str, Sequence[Event]], again: Mapping[str, Sequence[Event]]
) -> tuple[dict[str, list[Event]], str]:
    """Returns the numbers of ``reference`` with those marked that are others in a second run of the same program.

    Values and final values may vary: a time, a path, a seed that is printed. So may some of the weights (NOTE [Noise of
    rounding]). Where a loss, a gradient or an output does, or all weights do, nothing can be compared, and the second
    result says which, as one sentence; unless it is noise that grows (NOTE [Noise that grows]), which is marked.
    """
    found: dict[str, list[Event]] = {}
    for process, events in reference.items():
        found[process] = []
        equal: set[str] = set()  # kinds
        largest: dict[str, float] = {}
        others: dict[str, list[Event]] = {}
        for event in again.get(process, ()):
            others.setdefault(event["kind"], []).append(event)
        for event in events:
            waiting = others.get(event["kind"])
            other = waiting.pop(0) if waiting else {}
            digests = list(event.get("tensors", ()))
            its = list(other.get("tensors", ()))
            if len(its) != len(digests) or other.get("names") != event.get("names"):
                counts = message("expected {one} tensors, got {other}", one=len(digests), other=len(its))
                return found, message("{kind}: {difference}", kind=KINDS[event["kind"]], difference=counts)
            kind = event["kind"]
            largest[kind] = largest_so_far(event, largest.get(kind, 0.0))
            step = max((scale_of(each) for each in digests if each is not None and kind in _GRADIENTS), default=0.0)
            for place, (mine, second) in enumerate(zip(digests, its, strict=True)):
                difference = differ(mine, second, NOISE * largest[kind])
                if not difference:
                    continue
                noise = _distance(mine, second) if kind in equal or kind == "state" else math.inf
                if mine is not None and noise <= MOST_NOISE * max(scale_of(mine), step):
                    digests[place] = {**mine, "noise": noise}
                elif kind not in ("value", "state") and not _are_some_weights(event, other):
                    its_place = at(place, len(digests), difference)
                    return found, message("{kind}: {difference}", kind=KINDS[kind], difference=its_place)
                elif mine is not None:
                    digests[place] = {**mine, "varies": True}
            equal.add(kind)
            found[process].append({**event, "tensors": digests} if digests else event)
    return found, ""


def held_by_both(
    numbers: Mapping[str, Sequence[Event]], other: Mapping[str, Sequence[Event]]
) -> dict[str, list[Event]]:
    """Returns ``numbers`` without the final values whose names ``other`` does not have."""
    found: dict[str, list[Event]] = {}
    for process, events in numbers.items():
        known = {name for event in other.get(process, ()) for name in event.get("names", ())}
        found[process] = []
        for event in events:
            if event["kind"] == "state":
                kept = [each for each in zip(event["names"], event["tensors"], strict=True) if each[0] in known]
                event = {**event, "names": [name for name, _ in kept], "tensors": [tensor for _, tensor in kept]}
            found[process].append(event)
    return found


def _are_some_weights(event: Event, other: Event) -> bool:
    if event["kind"] != "weights":
        return False
    return not all(map(differ, event["tensors"], other["tensors"]))


def _distance(mine: Mapping[str, Any] | None, its: Mapping[str, Any] | None) -> float:
    """The largest difference of two tensors' numbers; infinite where they are no two tensors of one kind."""
    if mine is None or its is None or mine["exact"] or kind_of(mine) != kind_of(its):
        return math.inf
    pairs = zip(mine["values"], its["values"], strict=True)
    distances = [0.0 if one == other else abs(one - other) for one, other in pairs]
    return math.inf if any(math.isnan(each) for each in distances) else max(distances, default=0.0)
