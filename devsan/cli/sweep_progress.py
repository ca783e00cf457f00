"""How far a sweep is, on stderr: a bar that is written anew on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from devsan.cli.progress import RUNS, Line

if TYPE_CHECKING:
    from devsan.sweep.result import CellResult

_CELLS = 24  # of the bar
_PAUSE = 10.0  # seconds between two lines where there is no terminal


class SweepProgress:
    """Shows how many cells are done.

    Args:
        count: of the cells.
        stream: where; stderr by default.
        language: "en" or "zh"; by default the chosen one.
    """

    def __init__(self, count: int, stream: TextIO | None = None, language: str = "") -> None:
        self._line = Line(stream, language)
        self._count = count
        self._start = time.monotonic()
        self._last = 0.0
        self._first: int | None = None
        self._seen: Counter[str] = Counter()
        self._group = 0

    def __call__(self, done: int, ended: CellResult | None) -> None:
        """Shows that ``done`` cells are done; ``ended`` is the one that has just ended."""
        if self._first is None:
            self._first = done
        if ended is not None:
            self._seen["passed" if ended.status in ("passed", "skipped") else "failed"] += 1
        now = time.monotonic()
        if not self._line.is_terminal and done < self._count and now - self._last < _PAUSE:
            return
        self._last = now
        self._line.show(self._text(done, ended.name if ended is not None else "", now - self._start))

    def fixing(self, number: int, count: int) -> Callable[[str], None]:
        """Shows that a fix is looked for; returns what is to be called with what is tried, as ``Progress`` is."""
        say = self._line.say

        def show(what: str) -> None:
            text = say("looking for a fix of group {number} of {count}", number=str(number), count=str(count))
            if what not in RUNS:
                text = f"{text}: {say.text(what)}"
            if self._line.is_terminal or self._group != number:
                self._line.show(text)
            self._group = number

        return show

    def close(self) -> None:
        """Takes the bar away."""
        self._line.close()

    def _text(self, done: int, name: str, seconds: float) -> str:
        say = self._line.say
        parts = [say("{done} of {count} cells", done=str(done), count=str(self._count))]
        if self._line.is_terminal:
            full = _CELLS * done // max(self._count, 1)
            parts.insert(0, f"[{'#' * full}{'.' * (_CELLS - full)}]")
        if self._seen["failed"]:
            parts.append(say("{count} failed", count=str(self._seen["failed"])))
        assert self._first is not None
        if done > self._first and done < self._count:
            left = seconds / (done - self._first) * (self._count - done)
            parts.append(say("{time} left", time=f"{int(left) // 60}:{int(left) % 60:02}"))
        return "  ".join([*parts, *([name] if name else [])])
