"""Memory of each GPU over time: what tensors took, by the phase that took it, what was reserved, and the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.render.amounts import amount, nice_steps
from devsan.render.html.chart import HEIGHT, Axis, Tick, steps_path, thinned
from devsan.render.html.devices import in_order

_BINS = 150  # of one GPU; fewer where there are many, for the page must stay small
_ALL_BINS = 600
_FAR = 0.2  # of the budget: a peak below it would be a flat line at the bottom, so the budget is left out of the plot
_ROOM = 1.12  # above the highest line


@dataclass(frozen=True)
class Curve:
    """One GPU. Paths are in units of the plot; ``budget_at`` is where the budget's line is, None above the plot.
    Shares of the budget are in per cent. ``peak``: who held what at the peak, where that is known."""

    device: str
    budget: int
    peak_allocated: int
    peak_reserved: int
    share_allocated: float
    share_reserved: float
    allocated: str
    area: str
    reserved: str
    budget_at: float | None
    ticks: tuple[Tick, ...]
    peak: Mapping[str, Any] | None
    layers: tuple[Layer, ...] = ()


@dataclass(frozen=True)
class Layer:
    """What was taken in one phase and is held, on top of the layers behind it in a list. ``area``: to the bottom."""

    phase: str
    area: str


FROM_BELOW = ("load", "optimizer", "none", "backward", "forward")
"""What stays longest is below, so that it hides no change of the others."""


def curves_of(run: Mapping[str, Any], axis: Axis) -> list[Curve]:
    """Returns a curve for each GPU that the document has memory of."""
    samples: dict[str, list[_Sample]] = {}
    for sample in run["memory"]["samples"]:
        samples.setdefault(sample["device"], []).append(
            (axis.place(sample["time"]), sample["allocated"], sample["reserved"], sample.get("taken_in", {}))
        )
    peaks = {peak["device"]: peak for peak in run["memory"].get("peaks", ())}
    devices = sorted(run["memory"]["devices"], key=lambda each: in_order(each["device"]))
    bins = max(40, min(_BINS, _ALL_BINS // max(1, len(devices))))
    return [_curve(each, samples.get(each["device"], []), bins, peaks.get(each["device"])) for each in devices]


_Sample = tuple[float, int, int, Mapping[str, int]]


def _curve(device: Mapping[str, Any], samples: list[_Sample], bins: int, at_peak: Mapping[str, Any] | None) -> Curve:
    budget, peak = int(device["budget"]), int(device["peak_allocated"])
    reserved_peak = max(int(device["peak_reserved"]), peak)
    near = budget > 0 and reserved_peak >= _FAR * budget
    largest = max(reserved_peak, budget if near else 0) * _ROOM
    shown = thinned(((x, used, taken) for x, used, _, taken in samples), bins)
    allocated = [(x, used) for x, used, _ in shown]
    reserved = thinned(((x, held) for x, _, held, _ in samples), bins)
    steps = nice_steps(largest, binary=True) if largest > 0 else []
    return Curve(
        str(device["device"]), budget, peak, reserved_peak, _share(peak, budget), _share(reserved_peak, budget),
        steps_path(allocated, 1, largest), steps_path(allocated, 1, largest, close=True),
        steps_path(reserved, 1, largest),
        round(HEIGHT - budget / largest * HEIGHT, 1) if near else None,
        tuple(Tick(round(step / largest * 100, 1), amount(step) if step else "0") for step in steps),
        at_peak, tuple(_layers(shown, largest)),
    )  # fmt: skip


def _layers(samples: Sequence[tuple[float, int, Mapping[str, int]]], largest: float) -> Iterator[Layer]:
    """The highest first: each covers the one before it but for its own part."""
    phases = [phase for phase in FROM_BELOW if any(taken.get(phase) for _, _, taken in samples)]
    for count in range(len(phases), 0, -1):
        points = [(x, sum(taken.get(phase, 0) for phase in phases[:count])) for x, _, taken in samples]
        yield Layer(phases[count - 1], steps_path(points, 1, largest, close=True))


def _share(part: int, whole: int) -> float:
    return round(min(100.0, 100 * part / whole), 2) if whole > 0 else 0.0
