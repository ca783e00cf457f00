"""Which looks at the memory of GPUs are worth a row in a run file: it is looked at more often than it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from devsan import core

_MOST = 16  # of one GPU in one turn

Row = list[Any]
"""Time in seconds, index of the GPU, bytes allocated, bytes reserved, bytes allocated by phase."""


class Samples:
    """Thins out samples as they come."""

    def __init__(self) -> None:
        self._budgets: dict[int, int] = {}
        self._last: dict[int, Row] = {}

    def worth(self, rows: Sequence[Row]) -> list[Row]:
        """Returns the rows that show a change, by time: of many the highest and the lowest of each stretch."""
        kept = []
        for gpu in sorted({row[1] for row in rows}):
            own = sorted((row for row in rows if row[1] == gpu), key=lambda row: row[0])
            kept += self._thinned(self._changed(own))
        return sorted(kept, key=lambda row: row[0])

    def budgets(self, peaks: Mapping[int, tuple[int, int]]) -> list[list[int]]:
        """Returns [GPU, bytes that the program can reserve] of those in use.

        A GPU that was not used yet is not asked: that would open it, and its context takes memory.

        Args:
            peaks: the most that was allocated and reserved, by GPU.
        """
        for gpu, (_, most) in peaks.items():
            if gpu not in self._budgets and most:
                reserved = core.memory_now()[gpu][1]
                self._budgets[gpu] = int(core.memory_info(gpu)[0]) + int(reserved)
        return [[gpu, budget] for gpu, budget in self._budgets.items()]

    def _changed(self, rows: Sequence[Row]) -> list[Row]:
        kept = []
        for row in rows:
            before = self._last.get(row[1])
            if before is None or before[2:] != row[2:]:
                kept.append(row)
                self._last[row[1]] = row
        return kept

    @staticmethod
    def _thinned(rows: list[Row]) -> list[Row]:
        if len(rows) <= _MOST:
            return rows
        size = 2 * len(rows) // _MOST + 1
        kept: dict[float, Row] = {rows[-1][0]: rows[-1]}
        for begin in range(0, len(rows), size):
            stretch = rows[begin : begin + size]
            for row in (max(stretch, key=lambda row: row[2]), min(stretch, key=lambda row: row[2])):
                kept[row[0]] = row
        return [kept[time] for time in sorted(kept)]
