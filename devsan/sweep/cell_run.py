"""Runs one cell within its limits and says what came of it."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from devsan.diagnostics.messages import Message, message
from devsan.errors import DevsanError, tell
from devsan.fix.experiment import Laboratory
from devsan.fix.outcome import Outcome
from devsan.sizes import write_size
from devsan.sweep.cell import Cell
from devsan.sweep.failure_group import group_of
from devsan.sweep.result import FAILURES, CellResult, Group, Status
from devsan.sweep.stages import Stages

EXIT_SKIPPED = 77
"""By which a program says that this cell cannot be judged, as automake's and Meson's tests do."""

_STOPPED = "expected a sweep that runs, got one that was stopped"
_NO_MEMORY = re.compile(r"\b(?:MemoryError|bad_alloc|can't allocate memory|Cannot allocate memory)\b")


@dataclass
class CellRunner:
    """Runs cells, several at once where several threads ask.

    Attributes:
        folder: where they run.
        environment: of the sweep.
        stages: of which they are forks.
        seconds: that a cell may take.
        memory: bytes of host memory that it may take; 0 for its share of what is free.
        jobs: cells at once, which share what is free.
    """

    folder: str
    environment: Mapping[str, str]
    stages: Stages
    seconds: float
    memory: int
    jobs: int = 1
    _running: list[Laboratory] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False
    _told: bool = False

    def run(self, cell: Cell) -> tuple[CellResult, Group | None]:
        """Returns what came of ``cell``, and the group that its failure would begin.

        Raises:
            DevsanError: all cells were stopped.
        """
        outcome = self._outcome(cell)
        if self._stopped and not outcome.ended:  # with the sweep: nobody knows what it would have come to
            raise DevsanError(_STOPPED)
        status, reason = self._judge(outcome)
        group = group_of(outcome, status, reason, self.folder, cell.name) if status in FAILURES else None
        result = CellResult(
            cell.key, cell.name, dict(cell.values), status, round(outcome.seconds, 2), outcome.exit_code, reason,
            outcome.output if status not in ("passed", "failed") else "", group.id if group is not None else "",
        )  # fmt: skip
        return result, group

    @contextlib.contextmanager
    def laboratory(self, cell: Cell, forks: bool = True) -> Iterator[Laboratory]:
        """Runs experiments on ``cell``, in forks of its stage unless ``forks`` says otherwise.

        Raises:
            DevsanError: all cells were stopped.
        """
        stage = self.stages.take(cell) if forks else None
        laboratory = Laboratory(
            cell.job(self.folder, dict(self.environment)), self.seconds, self.jobs, self.memory, stage
        )
        broken = False
        try:
            with self._lock:
                if self._stopped:
                    raise DevsanError(_STOPPED)
                self._running.append(laboratory)
            with laboratory:
                yield laboratory
        except DevsanError:
            broken = True
            raise
        finally:
            with self._lock:
                if laboratory in self._running:
                    self._running.remove(laboratory)
            if stage is not None:
                self.stages.give_back(cell, broken)

    def stop(self) -> None:
        """Stops all cells, those of other threads too; no other begins."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for laboratory in running:
            laboratory.stop()

    def _outcome(self, cell: Cell) -> Outcome:
        """Runs it; where the process of which it is a fork has ended, once more with another, then without."""
        for _ in range(2):
            try:
                with self.laboratory(cell) as laboratory:
                    fresh = laboratory.stage is None
                    return laboratory.run(policy=cell.options.policy, fresh=fresh, observed=False)
            except DevsanError:
                if self._stopped:
                    raise
        with self._lock:
            if not self._told:
                tell("the process that imports what cells share has ended; such cells start processes of their own")
            self._told = True
        with self.laboratory(cell, forks=False) as laboratory:
            return laboratory.run(policy=cell.options.policy, fresh=True, observed=False)

    def _judge(self, outcome: Outcome) -> tuple[Status, str]:
        if outcome.timed_out:
            return "stopped", message("stopped at its limit of {seconds} s", seconds=f"{self.seconds:g}")
        if outcome.exit_code < 0:
            return "killed", message("killed by {signal}", signal=_signal_name(-outcome.exit_code))
        if outcome.exit_code == 0:
            return "passed", ""
        if outcome.exit_code == EXIT_SKIPPED and not outcome.findings:
            return "skipped", outcome.error
        if outcome.findings:
            return "failed", outcome.findings[0]["headline"]
        if _NO_MEMORY.search(outcome.error):
            return "stopped", self.no_memory
        return "error", outcome.error or message("exit code {code}", code=outcome.exit_code)

    @property
    def no_memory(self) -> Message:
        """Returns what is said of a cell that was stopped for its memory."""
        if not self.memory:
            return message("stopped: there is no more host memory for it")
        return message("stopped at its limit of {size} of host memory", size=write_size(self.memory))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
