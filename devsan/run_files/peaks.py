"""Who held the memory of each GPU at its peak, for the run file.

The core keeps the blocks of that moment; their names are those of live models and optimizers, and have to be asked for
while these have their gradients. So they are asked for before a step of an optimizer and at the end, each time only if
a GPU has held more since. No other thread may ask: what it looks at lives longer, and that is memory of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from devsan import core
from devsan.introspect.held_memory import peaks
from devsan.optimizer_steps import watch_steps
from devsan.run_files.caches import Caches
from devsan.run_files.places import Plain
from devsan.run_files.records import peak_memory_of


class Peaks:
    """Watches the peaks, from now on until `end`."""

    def __init__(self) -> None:
        self._undo: Callable[[], None] | None = None
        self._found: list[Plain] = []
        self._is_written = True
        self._caches = Caches()
        core.watch_peaks(True)

    def follow(self) -> None:
        """Has optimizers looked at, once torch has them. Called from time to time, by any thread."""
        if self._undo is None:
            self._undo = watch_steps(before=self._before_step)

    def look(self) -> None:
        """Asks for the names, if a GPU has held more since they were asked for. In the program's own thread."""
        if core.has_new_peak():
            self._found = [peak_memory_of(each) for each in peaks()]
            self._is_written = False

    def fresh(self) -> list[Plain]:
        """Returns all peaks, where one is new since the last call; else none."""
        if self._is_written:
            return []
        self._is_written = True
        return self._found

    def end(self) -> None:
        """Stops watching."""
        core.watch_peaks(False)
        self._caches.end()
        if self._undo is not None:
            self._undo()
            self._undo = None

    def _before_step(self, optimizer: Any) -> None:
        """What fails here changes nothing of the program."""
        try:
            self.look()
        except Exception:  # the end asks again, and tells
            return
