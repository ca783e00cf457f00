"""What the page shows of whole runs: GPUs, models, timelines and memory, each once for all the ranks that share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from devsan.render.html import memory, phases, transfers
from devsan.render.html.chart import WIDTH, Axis, Tick, axis_of
from devsan.render.html.codes import CodePage, page_of
from devsan.render.html.node import Node
from devsan.render.html.tree import MOST_ROWS, tree_of
from devsan.run_files.ranks import Shared

Run = Mapping[str, Any]


@dataclass(frozen=True)
class Gpus:
    """GPUs that are alike."""

    name: str
    profile: str
    memory: int
    used_memory: int
    count: int


@dataclass(frozen=True)
class Model:
    """A model at one moment. ``at``: where the program was, None at the end. ``ranks`` is empty with one rank only."""

    tree: Node
    type: str
    at: str | None
    asked: str
    wrappers: tuple[str, ...]
    quantization: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Timeline:
    """One rank on its time axis: phases, transfers, and the memory of the GPUs that were used.

    Attributes:
        ranks: it; empty where there is one only.
        bands: the strip of phases.
        sums: the phases one by one.
        lanes: of transfers.
        left: how many lanes there are besides.
        curves: of memory.
        ticks: of the axis.
        moments: of its findings, in units of the plot.
    """

    ranks: tuple[int, ...]
    bands: Sequence[phases.Band]
    sums: Sequence[phases.Sum]
    lanes: Sequence[transfers.Lane]
    left: int
    curves: Sequence[memory.Curve]
    ticks: tuple[Tick, ...]
    moments: tuple[float, ...]


@dataclass(frozen=True)
class Traffic:
    """What one rank moved in the whole run. ``movers_left``: lines that moved something, too."""

    ranks: tuple[int, ...]
    matrix: transfers.Matrix
    movers: Sequence[transfers.Mover]
    movers_left: int


@dataclass(frozen=True)
class Memory:
    """The memory of one rank's GPUs. ``unused``: those of which nothing was ever taken."""

    ranks: tuple[int, ...]
    curves: Sequence[memory.Curve]
    unused: tuple[str, ...]


@dataclass(frozen=True)
class About:
    """The page of a code, and the numbers of the findings that it is about."""

    page: CodePage
    findings: tuple[int, ...]


def gpus_of(runs: Sequence[Run]) -> list[Gpus]:
    """Returns the GPUs of all ``runs``, a device that several ranks see once, those that are alike together."""
    seen = {(gpu["device"], gpu["name"]): gpu for run in runs for gpu in run["gpus"]}
    counts: dict[tuple[str, str, int, int], int] = {}
    for gpu in seen.values():
        key = (str(gpu["name"]), str(gpu["profile"]), int(gpu["memory"]), int(gpu["used_memory"]))
        counts[key] = counts.get(key, 0) + 1
    return [Gpus(*key, count) for key, count in counts.items()]


def pages_of(found: Sequence[Shared]) -> list[About]:
    """Returns the pages of the findings' codes and, where it is undecided, of the candidates', each once."""
    wanted: dict[str, list[int]] = {}
    for number, each in enumerate(found):
        codes = [each.finding["code"], *(candidate["code"] for candidate in each.finding["candidates"])]
        for code in dict.fromkeys(code for code in codes if code is not None):
            wanted.setdefault(code, []).append(number)
    pages = [(page_of(code), numbers) for code, numbers in wanted.items()]
    return [About(page, tuple(numbers)) for page, numbers in pages if page is not None]


def models_of(runs: Sequence[Run]) -> list[Model]:
    """Returns the models; what several ranks, or several moments, show alike is there once."""
    room = max(60, MOST_ROWS // max(1, sum(len(run["models"]) for run in runs)))
    known: list[tuple[Node, Mapping[str, Any], list[int], str | None]] = []
    for run in runs:
        findings = {finding["id"]: finding for finding in run["findings"]}
        for model in run["models"]:
            finding = findings.get(model["finding"])
            tree = tree_of(model, room, finding["stack"] if finding is not None else ())
            if tree is None:
                continue
            rank = int(run["process"]["rank"])
            same = next((each for each in known if each[0] == tree), None)
            if same is None:
                known.append((tree, model, [rank], finding and _place_of(finding)))
            elif rank not in same[2]:
                same[2].append(rank)
    return [
        Model(
            tree, str(model["type"]), at, str(model["device_map_text"]), tuple(model["wrappers"]),
            str(model["quantization"]), tuple(ranks) if len(runs) > 1 else (),
        )
        for tree, model, ranks, at in known
    ]  # fmt: skip


def _place_of(finding: Mapping[str, Any]) -> str:
    """The first place of a finding, where its job may know another cause; its code if it has no place."""
    return next((f"{site['file']}:{site['line']}" for site in finding["sites"]), str(finding["code"]))


def timelines_of(runs: Sequence[Run]) -> list[Timeline]:
    """Returns the time axis of each rank that moved or held something."""
    found = []
    for run in runs:
        axis = axis_of(run)
        lanes, left = transfers.lanes_of(run, axis)
        curves = [curve for curve in memory.curves_of(run, axis) if curve.peak_reserved]
        if lanes or curves:
            bands, sums = phases.bands_of(run, axis), phases.sums_of(run)
            found.append(Timeline(_rank(run, runs), bands, sums, lanes, left, curves, axis.ticks, _moments(run, axis)))
    return found


def traffic_of(runs: Sequence[Run]) -> list[Traffic]:
    """Returns what each rank moved that moved anything."""
    moving = [run for run in runs if run["places"]]
    return [Traffic(_rank(run, runs), transfers.matrix_of(run), *transfers.busiest_movers(run)) for run in moving]


def memories_of(runs: Sequence[Run]) -> list[Memory]:
    """Returns the memory of each rank that has any."""
    found = []
    for run in runs:
        axis = axis_of(run)
        curves = memory.curves_of(run, axis)
        if curves:
            used = [curve for curve in curves if curve.peak_reserved]
            unused = tuple(curve.device for curve in curves if not curve.peak_reserved)
            found.append(Memory(_rank(run, runs), used, unused))
    return found


def exhausted_of(runs: Sequence[Run], found: Sequence[Shared]) -> Timeline | None:
    """Returns the memory of the GPU that the first finding says is full; None where it is about something else.

    Who held it is told of the moment at which it was full, which need not be that of the peak.
    """
    held = found[0].finding.get("memory") if found else None
    run = next((each for each in runs if each["process"]["rank"] == found[0].ranks[0]), None) if held else None
    if held is None or run is None:
        return None
    axis = axis_of(run)
    full = {**held, "stack": found[0].finding["stack"]}
    curves = [replace(each, peak=full) for each in memory.curves_of(run, axis) if each.device == held["device"]]
    return Timeline(_rank(run, runs), (), (), (), 0, curves, axis.ticks, _moments(run, axis)) if curves else None


def _rank(run: Run, runs: Sequence[Run]) -> tuple[int, ...]:
    return (int(run["process"]["rank"]),) if len(runs) > 1 else ()


def _moments(run: Run, axis: Axis) -> tuple[float, ...]:
    return tuple(sorted({round(axis.place(finding["time"]) * WIDTH, 1) for finding in run["findings"]}))
