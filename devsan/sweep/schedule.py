"""Runs the cells of a sweep, several at once; what is known of a cell is not run again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from devsan.diagnostics.messages import message
from devsan.sweep.cell import Cell
from devsan.sweep.cell_run import CellRunner
from devsan.sweep.result import FAILURES, CellResult
from devsan.sweep.state import State


@dataclass
class Schedule:
    """The cells that are left to run.

    NOTE [Baselines] A cell with a baseline waits for it, and is skipped where the baseline does not pass: a program
    that fails on one GPU says nothing about several. Baselines run once, also where they are no cells of the matrix.

    Attributes:
        cells: of the matrix.
        runner: of single cells.
        state: what is known already, and what comes to be known.
        jobs: cells at once.
        again: statuses with which a cell runs again though it is known.
        told: called when a cell has begun or ended, with how many cells are done, and what ended.
    """

    cells: Sequence[Cell]
    runner: CellRunner
    state: State
    jobs: int
    again: Collection[str] = ()
    told: Callable[[int, CellResult | None], None] = lambda done, ended: None
    _waiting: list[Cell] = field(default_factory=list)
    _left: set[str] = field(default_factory=set)
    _error: BaseException | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def run(self) -> None:
        """Runs them all. A Ctrl-C stops those that run, and passes through; so does an error of DevSan's own."""
        self._waiting = self._plan()
        self._left = {cell.key for cell in self._waiting}
        self.told(self._done(), None)
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(min(self.jobs, len(self._waiting)))]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.5)  # a Ctrl-C is not seen in a wait without an end
        except BaseException:
            self.runner.stop()
            raise
        if self._error is not None:
            raise self._error

    def _plan(self) -> list[Cell]:
        """What is not known, each once, a baseline in front of the first cell that needs it."""
        planned: dict[str, Cell] = {}
        for cell in self.cells:
            for each in (cell.baseline, cell):
                if each is not None and not self._is_known(each):
                    planned.setdefault(each.key, each)
        return list(planned.values())

    def _is_known(self, cell: Cell) -> bool:
        known = self.state.cells.get(cell.key)
        if known is None or known.status in self.again:
            return False
        # What was stopped at a limit may pass at a higher one.
        of_memory = bool(self.runner.memory) and known.reason == self.runner.no_memory
        return known.status != "stopped" or of_memory or known.seconds >= self.runner.seconds

    def _done(self) -> int:
        return sum(cell.key not in self._left for cell in self.cells)

    def _work(self) -> None:
        try:
            while True:
                cell = self._take()
                if cell is None:
                    return
                self._run(cell)
        except BaseException as error:  # raised by the thread that waits
            with self._changed:
                self._error = self._error or error
                self._waiting.clear()
                self._changed.notify_all()

    def _take(self) -> Cell | None:
        """The next cell whose baseline is known; waits for one that runs."""
        with self._changed:
            while self._waiting:
                for number, cell in enumerate(self._waiting):
                    if cell.baseline is None or cell.baseline.key not in self._left:
                        return self._waiting.pop(number)
                self._changed.wait()
            return None

    def _run(self, cell: Cell) -> None:
        basis = self.state.cells.get(cell.baseline.key) if cell.baseline is not None else None
        if basis is not None and basis.status != "passed":
            result, group = _skipped(cell, basis), None
        else:
            result, group = self.runner.run(cell)
        with self._changed:
            self.state.add(result, group)
            self._left.discard(cell.key)
            self._changed.notify_all()
            self.told(self._done(), result)


def _skipped(cell: Cell, basis: CellResult) -> CellResult:
    changed = " ".join(f"{name}={value}" for name, value in basis.values.items() if dict(cell.values)[name] != value)
    reason = basis.reason
    if basis.status in FAILURES:
        reason = message("fails with {values}, too: {reason}", values=changed, reason=basis.reason)
    return CellResult(cell.key, cell.name, dict(cell.values), "skipped", reason=reason)
