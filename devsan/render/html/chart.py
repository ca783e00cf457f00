"""What both charts share: a plot is a box of 1000 by 1000 units that is stretched; words stand beside it as HTML.

So lines and bars take any width, and the words on the axes keep their size on a narrow screen. Positions are
whole numbers: the page must stay small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from devsan.render.amounts import nice_steps, seconds

WIDTH = 1000
HEIGHT = 1000


@dataclass(frozen=True)
class Tick:
    """A mark on an axis. ``place``: in per cent of its length."""

    place: float
    text: str


@dataclass(frozen=True)
class Axis:
    """The time axis of a run, in seconds since its start."""

    begin: float
    end: float

    def place(self, time: float) -> float:
        """Returns where ``time`` is on the axis, between 0 and 1."""
        length = self.end - self.begin
        return min(1.0, max(0.0, (time - self.begin) / length)) if length > 0 else 0.0

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Round times along the axis."""
        length = self.end - self.begin
        if length <= 0:
            return ()
        step = nice_steps(length)[1]
        first = math.ceil(self.begin / step - 1e-9)
        times = [step * number for number in range(first, int(self.end / step + 1e-9) + 1)]
        return tuple(Tick(round(self.place(time) * 100, 2), seconds(time) if time else "0") for time in times)


def axis_of(run: Mapping[str, Any]) -> Axis:
    """Returns the axis of a document, up to the last that is known of it.

    A rehearsal of seconds spends most of them on imports: what lies before anything is on a device is left out when
    that is more than a quarter.
    """
    samples, transfers = run["memory"]["samples"], run["transfers"]
    times = [each["time"] for each in (*run["findings"], *samples)] + [each["until"] for each in transfers]
    if run["end"] is not None:
        times.append(run["end"]["time"])
    end = float(max(times, default=0.0))
    used = [each["time"] for each in samples if each["allocated"]] + [each["time"] for each in transfers]
    first = float(min(used, default=0.0))
    return Axis(first - 0.02 * (end - first) if first > end / 4 else 0.0, end)


def steps_path(points: Sequence[tuple[float, float]], end: float, largest: float, close: bool = False) -> str:
    """Returns an SVG path through ``points`` (x, value) that keeps a value until the next point, up to x = 1.

    Args:
        points: x between 0 and 1, ascending; values up to ``largest``.
        end: x up to which the last value holds.
        largest: the value at the top of the plot.
        close: come back along the bottom, for an area.
    """
    if not points:
        return ""
    scale = HEIGHT / largest if largest > 0 else 0
    x, height = round(points[0][0] * WIDTH), round(HEIGHT - points[0][1] * scale)
    first = x
    parts = [f"M{x} {height}"]
    for point in points[1:]:
        to_x, to_height = round(point[0] * WIDTH), round(HEIGHT - point[1] * scale)
        if to_height != height:
            parts.append(f"H{to_x}" * (to_x != x) + f"V{to_height}")
            x, height = to_x, to_height
    parts.append(f"H{round(end * WIDTH)}")
    if close:
        parts.append(f"V{HEIGHT}H{first}Z")
    return "".join(parts)


Point = TypeVar("Point", bound=tuple[Any, ...])


def thinned(points: Iterable[Point], bins: int) -> list[Point]:
    """Returns at most three points for each of ``bins`` parts of the x axis: its highest, its lowest, its last one.

    A point is (x, value), and may have more after these.
    """
    groups: dict[int, list[Point]] = {}
    for point in points:
        groups.setdefault(min(int(point[0] * bins), bins - 1), []).append(point)
    kept: list[Point] = []
    for group in groups.values():
        values = [point[1] for point in group]
        wanted = {values.index(max(values)), values.index(min(values)), len(group) - 1}
        kept.extend(group[at] for at in sorted(wanted))
    return kept
