"""Runs as a trace for ui.perfetto.dev and chrome://tracing: the Trace Event Format, its events in JSON.

A process of the trace is a run, of a job one rank. It has two counters for each GPU, a track for each pair of devices
between which tensors moved, and a mark for each finding and for the end. All runs share one time axis, which begins
with the first of them.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from devsan.render.amounts import amount
from devsan.render.in_words import where_of

Plain = dict[str, Any]
Run = Mapping[str, Any]

_MICRO = 1e6
_SHORTEST = 1.0  # microseconds: a move has no duration of its own


def render(runs: Sequence[Run]) -> str:
    """Returns one trace of ``runs``; times are microseconds since the start of the first run."""
    starts = [datetime.fromisoformat(run["start"].replace("Z", "+00:00")).timestamp() for run in runs]
    events: list[Plain] = []
    numbered = enumerate(zip(runs, starts, strict=True), start=1)  # viewers take process 0 for the idle one
    for number, (run, start) in numbered:
        events += _Process(number, run, start - min(starts)).events()
    trace = {"displayTimeUnit": "ms", "otherData": {"command": shlex.join(runs[0]["process"]["command"])},
             "traceEvents": events}  # fmt: skip
    return json.dumps(trace, indent=1, ensure_ascii=False) + "\n"


class _Process:
    """One run.

    Args:
        number: of its process in the trace.
        run: its document.
        late: seconds from the start of the trace to that of the run.
    """

    def __init__(self, number: int, run: Run, late: float) -> None:
        self._number, self._run, self._late = number, run, late
        taken = (sample.get("taken_in", {}) for sample in run["memory"]["samples"])
        self._phases = sorted({phase for each in taken for phase in each})

    def events(self) -> Iterator[Plain]:
        yield from self._names()
        yield from self._memory()
        yield from self._transfers()
        yield from self._marks()

    def _names(self) -> Iterator[Plain]:
        process = self._run["process"]
        name = f"rank {process['rank']}" if process["world_size"] > 1 else os.path.basename(process["command"][0])
        yield self._event("M", "process_name", args={"name": f"{name} (pid {process['pid']})"})
        yield self._event("M", "process_sort_index", args={"sort_index": self._number})
        budgets = [f"{each['device']} {amount(each['budget'])}" for each in self._run["memory"]["devices"]]
        yield self._event("M", "process_labels", args={"labels": ", ".join(budgets)})

    def _memory(self) -> Iterator[Plain]:
        for sample in self._run["memory"]["samples"]:
            for what in ("allocated", "reserved"):
                yield self._event("C", f"{sample['device']} {what}", sample["time"], args={"bytes": sample[what]})
            for phase in self._phases:
                size = sample.get("taken_in", {}).get(phase, 0)
                yield self._event("C", f"{sample['device']} taken in {phase}", sample["time"], args={"bytes": size})

    def _transfers(self) -> Iterator[Plain]:
        places = {place["id"]: place for place in self._run["places"]}
        lanes: dict[str, list[Mapping[str, Any]]] = {}
        for transfer in self._run["transfers"]:
            place = places[transfer["place"]]
            lanes.setdefault(f"{place['from']} \N{RIGHTWARDS ARROW} {place['to']}", []).append(transfer)
        tracks = ((lane, track) for lane in sorted(lanes) for track in _tracks(lanes[lane]))
        for thread, (lane, track) in enumerate(tracks, start=1):
            yield self._event("M", "thread_name", thread=thread, args={"name": lane})
            yield self._event("M", "thread_sort_index", thread=thread, args={"sort_index": thread})
            for transfer in track:
                event = places[transfer["place"]]["event"]
                frame = where_of(event)
                name = f"{frame['file']}:{frame['line']}" if frame is not None else event["op"] or lane
                duration = max(_SHORTEST, (transfer["until"] - transfer["time"]) * _MICRO)
                args = {"bytes": transfer["bytes"], "times": transfer["times"], "owner": event["owner"]["name"]}
                yield self._event(
                    "X", name, transfer["time"], thread=thread, cat="transfer", dur=round(duration, 3), args=args
                )

    def _marks(self) -> Iterator[Plain]:
        for finding in self._run["findings"]:
            name = " ".join(part for part in (finding["code"], finding["title"]) if part)
            yield self._event("i", name, finding["time"], cat=finding["severity"], s="p")
        end = self._run["end"]
        if end is not None:
            yield self._event("i", f"end: {end['how']}", end["time"], cat="end", s="p")

    def _event(self, kind: str, name: str, time: float = 0.0, thread: int = 0, **fields: Any) -> Plain:
        """One event; ``kind`` is the ``ph`` of the format, ``time`` in seconds since the start of the run."""
        micro = round((self._late + time) * _MICRO, 3)
        return {"ph": kind, "name": name, "pid": self._number, "tid": thread, "ts": micro, **fields}


def _tracks(transfers: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Transfers of a pair as few tracks, in each of which none begins before the one ahead of it is over.

    Slices of one track of the format may lie within each other, but not overlap; moves of two places may.
    """
    tracks: list[list[Mapping[str, Any]]] = []
    for transfer in sorted(transfers, key=lambda each: each["time"]):
        free = (track for track in tracks if _over(track[-1]) <= transfer["time"])
        track = next(free, None)
        if track is None:
            track = []
            tracks.append(track)
        track.append(transfer)
    return tracks


def _over(transfer: Mapping[str, Any]) -> float:
    return max(float(transfer["until"]), float(transfer["time"]) + _SHORTEST / _MICRO)
