"""The timeline of transfers: a lane for each pair of devices, a bar for each span of time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.render.amounts import amount, seconds
from devsan.render.html.chart import HEIGHT, WIDTH, Axis
from devsan.render.html.devices import in_order
from devsan.render.in_words import where_of

MOST_LANES = 12
MOST_PLACES = 25
_BARS = 480  # of all lanes together
_LOWEST = 0.18  # of the lane's height: a transfer of one byte must be seen


@dataclass(frozen=True)
class Bar:
    """What went over a pair within a span: a box in units of the plot, and what is said about it."""

    x: float
    width: float
    height: float
    text: str


@dataclass(frozen=True)
class Lane:
    """One pair of devices."""

    origin: str
    target: str
    times: int
    bytes: int
    bars: tuple[Bar, ...]


def lanes_of(run: Mapping[str, Any], axis: Axis) -> tuple[list[Lane], int]:
    """Returns the lanes with most bytes, in the order of devices, and how many are left out."""
    places = {place["id"]: place for place in run["places"]}
    pairs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for transfer in run["transfers"]:
        place = places.get(transfer["place"])
        if place is not None:
            pairs.setdefault((str(place["from"]), str(place["to"])), []).append(transfer)
    total = {pair: sum(each["bytes"] for each in transfers) for pair, transfers in pairs.items()}
    shown = sorted(pairs, key=lambda pair: -total[pair])[:MOST_LANES]
    shown.sort(key=lambda pair: (in_order(pair[0]), in_order(pair[1])))
    count = max(40, min(160, _BARS // max(1, len(shown))))
    spans = {pair: _spans(pairs[pair], axis, count) for pair in shown}
    most = max((span.bytes for found in spans.values() for span in found), default=0.0)
    lanes = [
        Lane(
            *pair, sum(each["times"] for each in pairs[pair]), total[pair],
            tuple(_bar(span, most, axis, count, places) for span in spans[pair]),
        )
        for pair in shown
    ]  # fmt: skip
    return lanes, len(pairs) - len(shown)


@dataclass(frozen=True)
class Cell:
    """What went from one device to another. ``share``: of the most that went between two devices, 0 to 1."""

    times: int
    bytes: int
    share: float


@dataclass(frozen=True)
class Matrix:
    """Devices by devices: ``rows`` hold a cell for each of ``targets``, None where nothing went."""

    origins: tuple[str, ...]
    targets: tuple[str, ...]
    rows: tuple[tuple[Cell | None, ...], ...]


def matrix_of(run: Mapping[str, Any]) -> Matrix:
    """Returns what went between which devices in the whole run."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for place in run["places"]:
        pair = str(place["from"]), str(place["to"])
        times, size = sums.get(pair, (0, 0))
        sums[pair] = times + int(place["times"]), size + int(place["bytes"])
    origins, targets = (tuple(sorted({pair[side] for pair in sums}, key=in_order)) for side in (0, 1))
    most = max((size for _, size in sums.values()), default=0)
    cells = {pair: Cell(*each, each[1] / most if most else 0.0) for pair, each in sums.items()}
    return Matrix(origins, targets, tuple(tuple(cells.get((one, other)) for other in targets) for one in origins))


@dataclass
class Mover:
    """A line of source that moves tensors between two devices, whatever called it. ``event``: one of its moves."""

    event: Mapping[str, Any]
    origin: str
    target: str
    times: int = 0
    bytes: int = 0


def busiest_movers(run: Mapping[str, Any]) -> tuple[list[Mover], int]:
    """Returns the lines that moved most bytes, the most first, and how many are left out."""
    movers: dict[object, Mover] = {}
    for place in run["places"]:
        event, pair = place["event"], (str(place["from"]), str(place["to"]))
        frame = where_of(event)
        line = (frame["path"], frame["line"]) if frame is not None else None
        mover = movers.setdefault((pair, line, event["owner"]["name"], event["op"]), Mover(event, *pair))
        mover.times += int(place["times"])
        mover.bytes += int(place["bytes"])
    found = sorted(movers.values(), key=lambda mover: (-mover.bytes, -mover.times))
    return found[:MOST_PLACES], max(0, len(found) - MOST_PLACES)


@dataclass
class _Span:
    number: int
    bytes: float = 0.0
    times: float = 0.0
    by_place: dict[int, float] | None = None


def _spans(transfers: Sequence[Mapping[str, Any]], axis: Axis, count: int) -> list[_Span]:
    """Bytes in each of ``count`` equal parts of the run; a transfer that lasted is spread evenly."""
    spans: dict[int, _Span] = {}
    for transfer in transfers:
        first, last = (min(count - 1, int(axis.place(transfer[edge]) * count)) for edge in ("time", "until"))
        parts = max(1, last - first + 1)
        for number in range(first, first + parts):
            span = spans.setdefault(number, _Span(number, by_place={}))
            span.bytes += transfer["bytes"] / parts
            span.times += transfer["times"] / parts
            assert span.by_place is not None
            span.by_place[transfer["place"]] = span.by_place.get(transfer["place"], 0) + transfer["bytes"] / parts
    return [spans[number] for number in sorted(spans)]


def _bar(span: _Span, most: float, axis: Axis, count: int, places: Mapping[int, Mapping[str, Any]]) -> Bar:
    share = math.log1p(span.bytes) / math.log1p(most) if most > 0 else 1.0
    height = HEIGHT * (_LOWEST + (1 - _LOWEST) * share)
    by_place = span.by_place or {}
    site = places[max(by_place, key=lambda place: by_place[place])]["event"]["site"]
    where = f", {site['file']}:{site['line']}" if site is not None else ""
    more = f" +{len(by_place) - 1}" if len(by_place) > 1 else ""
    begin = axis.begin + span.number / count * (axis.end - axis.begin)
    text = f"{seconds(begin)}: {max(1, round(span.times))} \N{MULTIPLICATION SIGN}"
    return Bar(
        round(span.number / count * WIDTH, 1), round(WIDTH / count * 0.9, 1), round(height),
        f"{text}, {amount(span.bytes)}{where}{more}",
    )  # fmt: skip
