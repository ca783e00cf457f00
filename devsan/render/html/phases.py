"""The phases of a run on its time axis: loading, forward, backward, the optimizer's steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.render.amounts import seconds
from devsan.render.html.chart import HEIGHT, WIDTH, Axis
from devsan.run_files.run_file import PHASES

_BINS = 250
_LEAST = 0.04  # of a bin: less is not seen

Spans = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Band:
    """A box in units of the plot: one phase for a while, or the part of the time that it took of a short while."""

    phase: str
    x: float
    width: float
    y: float
    height: float
    begin: str


@dataclass(frozen=True)
class Sum:
    """All of one phase. ``times``: how often it was entered; ``moved``: bytes of the transfers within it."""

    phase: str
    times: int
    seconds: float
    moved: float


def bands_of(run: Mapping[str, Any], axis: Axis) -> list[Band]:
    """Returns what fills the strip. Phases shorter than a bin share its height as they shared its time."""
    length = (axis.end - axis.begin) / _BINS
    shares: list[dict[str, float]] = [{} for _ in range(_BINS)]
    for span in run.get("phases", ()):
        begin, end = ((max(axis.begin, span[edge]) - axis.begin) / length if length > 0 else 0.0
                      for edge in ("time", "until"))  # fmt: skip
        for number in range(int(begin), min(_BINS, int(end) + 1)):
            part = min(end, number + 1) - max(begin, number)
            shares[number][span["phase"]] = shares[number].get(span["phase"], 0.0) + max(0.0, part)
    bands: list[Band] = []
    open_bands: dict[str, Band] = {}
    width = WIDTH / _BINS
    for number, share in enumerate(shares):
        top, before, open_bands = 0.0, open_bands, {}
        for phase in PHASES:
            part = min(1.0, share.get(phase, 0.0))
            if part < _LEAST:
                continue
            part = 1.0 if part > 1 - _LEAST else part
            y, height = round(top * HEIGHT), round(part * HEIGHT)
            last = before.get(phase)
            if last is not None and (last.y, last.height) == (y, height):
                bands.remove(last)
                band = Band(phase, last.x, round(last.width + width, 1), y, height, last.begin)
            else:
                band = Band(phase, round(number * width, 1), width, y, height, seconds(axis.begin + number * length))
            bands.append(band)
            open_bands[phase] = band
            top += part
    return bands


def sums_of(run: Mapping[str, Any]) -> list[Sum]:
    """Returns the phases that the run had, in their order, and what was moved outside of them last, as "none".

    A transfer that lasted, such as a model's way to a GPU, counts for the phases by their parts of its time.
    """
    spans: Spans = run.get("phases", ())
    if not spans:
        return []
    times = dict.fromkeys(PHASES, 0)
    lasted = dict.fromkeys(PHASES, 0.0)
    for span in spans:
        times[span["phase"]] += 1
        lasted[span["phase"]] += span["until"] - span["time"]
    moved = _moved(run["transfers"], spans)
    sums = [Sum(phase, times[phase], lasted[phase], moved.get(phase, 0.0)) for phase in PHASES if times[phase]]
    rest = moved.get("none", 0.0)
    return [*sums, Sum("none", 0, 0.0, rest)] if round(rest) else sums


def _moved(transfers: Spans, spans: Spans) -> dict[str, float]:
    """Bytes by phase. Both are sorted by their begins, and spans do not overlap."""
    moved: dict[str, float] = {}
    first = 0
    for transfer in transfers:
        begin, end = transfer["time"], max(transfer["until"], transfer["time"] + 1e-9)
        while first < len(spans) and spans[first]["until"] <= begin:
            first += 1
        left = 1.0
        for span in spans[first:]:
            if span["time"] >= end:
                break
            part = max(0.0, min(end, span["until"]) - max(begin, span["time"])) / (end - begin)
            moved[span["phase"]] = moved.get(span["phase"], 0.0) + part * transfer["bytes"]
            left -= part
        moved["none"] = moved.get("none", 0.0) + max(0.0, left) * transfer["bytes"]
    return moved
