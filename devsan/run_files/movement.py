"""Who moved tensors between devices, and when: the core's timeline as pieces of a run's document."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from devsan import core
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.run_files.places import Plain
from devsan.run_files.records import event_of

_PAUSE = 0.01  # seconds without a move that begin a new entry of the same place
_MOST = 512  # entries of one turn; above it each place has one entry
_NANO = 1e-9


class Movement:
    """Reads the core's timeline, as it goes on.

    Args:
        start: of the run, on the clock of ``time.monotonic_ns``.
    """

    def __init__(self, start: int) -> None:
        self._start = start
        self._reader = ProvenanceReader()
        self._totals: dict[int, tuple[int, int]] = {}  # times and bytes of each placement, when they were last seen
        self._places: dict[int, int] = {}  # of each placement; those of one statement that moved alike are one
        self._by_sight: dict[Any, int] = {}
        # What is not given back yet: reading it may fail, while the program changes what is looked at, and is repeated.
        self._moves: list[tuple[int, int, int, int, int]] = []
        self._sampled: list[tuple[int, int, int, int, list[int]]] = []
        self._fresh: list[Plain] = []
        self.lost = 0
        self.peaks: dict[int, tuple[int, int]] = {}

    def fetch(self) -> tuple[list[Plain], list[list[Any]], list[list[Any]]]:
        """Returns what is new: places; transfers as [place, time, until, times, bytes]; samples of memory as
        [time, GPU, allocated, reserved, allocated by phase]."""
        drained, sampled, lost = core.drain_timeline()
        self.lost += int(lost)
        self._moves += drained
        self._sampled += sampled
        for number in dict.fromkeys(move[0] for move in self._moves):
            place = self._new_place(number) if number not in self._places else None
            if place is not None:
                self._fresh.append(place)
        moves = [move for move in self._moves if move[0] in self._places]  # the rest was dropped at once
        for number in {move[0] for move in moves}:
            self._see(number)
        transfers = _merged([(self._places[move[0]], *move[1:]) for move in moves])
        now = self._now()
        rows = [[self._seconds(time), *sample] for time, *sample in self._sampled]
        places, self._moves, self._sampled, self._fresh = self._fresh, [], [], []
        return places, [self._transfer(move) for move in transfers], rows + now

    def totals(self) -> list[list[int]]:
        """Returns [place, times, bytes] over the whole run of every place that was fetched."""
        totals: dict[int, list[int]] = {}
        for number, place in self._places.items():
            times, size = self._see(number)
            total = totals.setdefault(place, [place, 0, 0])
            total[1] += times
            total[2] += size
        return list(totals.values())

    def _see(self, number: int) -> tuple[int, int]:
        record = core.placement(number)
        if record is not None:
            self._totals[number] = int(record.times), int(record.bytes)
        return self._totals.get(number, (0, 0))

    def _new_place(self, number: int) -> Plain | None:
        """The place of a placement, None if one that looks the same is known: tensors of other histories move there."""
        record = core.placement(number)
        events = self._reader.from_placement(number)
        if record is None or not events:
            return None
        event = events[0]
        frames = tuple((str(frame.file), int(frame.span.line), int(frame.span.column)) for frame in event.stack)
        sight = (str(record.from_device), str(record.device), str(event.op), frames)
        self._places[number] = place = self._by_sight.setdefault(sight, number)
        if place != number:
            return None
        return {
            "id": number, "from": str(record.from_device), "to": str(record.device), "times": int(record.times),
            "bytes": int(record.bytes), "event": event_of(event),
        }  # fmt: skip

    def _transfer(self, move: list[int]) -> list[Any]:
        number, first, last, times, size = move
        return [number, self._seconds(first), self._seconds(last), times, size]

    def _now(self) -> list[list[Any]]:
        seconds = self._seconds(time.monotonic_ns())
        rows = []
        for index, (held, reserved, most, most_reserved, by_phase) in enumerate(core.memory_now()):
            before = self.peaks.get(index, (0, 0))
            self.peaks[index] = (max(before[0], most), max(before[1], most_reserved))
            rows.append([seconds, index, held, reserved, by_phase])
        return rows

    def _seconds(self, nanoseconds: int) -> float:
        return round(max(0, nanoseconds - self._start) * _NANO, 6)


def _merged(moves: Iterable[Sequence[int]]) -> list[list[int]]:
    """The moves by their begin; those of one place that follow each other closely are one."""
    pause = _PAUSE / _NANO
    listed = [list(move) for move in moves]
    merged = _joined(listed, pause)
    return merged if len(merged) <= _MOST else _joined(listed, float("inf"))


def _joined(moves: list[list[int]], pause: float) -> list[list[int]]:
    open_entries: dict[int, list[int]] = {}
    merged = []
    for number, first, last, times, size in moves:
        entry = open_entries.get(number)
        if entry is not None and first - entry[2] <= pause:
            entry[2], entry[3], entry[4] = last, entry[3] + times, entry[4] + size
            continue
        entry = open_entries[number] = [number, first, last, times, size]
        merged.append(entry)
    return sorted(merged, key=lambda entry: entry[1])
