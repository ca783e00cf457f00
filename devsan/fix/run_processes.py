"""The processes of one experiment: which there are, whether they do something, and their end.

NOTE [A run that hangs] A change may let one rank of a job go on and another fail, and then the first waits for what
never comes: for hours, if nobody looks. So a run is stopped once its processes together have computed nothing for a
while. How long a job waits by nature, for a server or a clock, its first run shows, which is not stopped for that.

NOTE [Ranks without a parent that waits] Lightning's launcher starts the other ranks and does not wait for them. When
the first process ends well, they are about to, and what they computed is still to be written. A server that a program
left behind computes nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from devsan.proc import stat_of

LEAST_IDLE = 20.0
"""Seconds without computing after which no run is stopped yet."""

_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
_LOOK = 1.0
_LAST_IDLE = 2.0  # seconds that what is left may compute nothing once the first process has ended
_IDLE_SHARE = 0.05  # of one CPU: threads that only watch take less, a run that is one of many on a CPU more
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class RunProcesses:
    """What was started for one run: a group of processes, and those that left it.

    torchrun gives each rank a session of its own, and so do the launchers that a program calls itself; what all inherit
    is the environment.

    Attributes:
        group: the id of the group, which is that of its first process.
        variable: "NAME=text" in the environment of this run alone.
        most_idle: seconds; a run that computes nothing for longer is stopped. None is never.
        longest_idle: seconds that this run has computed nothing, so far.
    """

    group: int
    variable: str
    most_idle: float | None = None
    longest_idle: float = 0.0
    _last: tuple[frozenset[int], float] = field(default=(frozenset(), 0.0))
    _active: float = field(default_factory=time.monotonic)

    def wait(self, ended: Callable[[float], int | None], seconds: float) -> tuple[int | None, bool]:
        """Waits for the end of the first process, and where it ends well, of those that it leaves behind.

        Args:
            ended: waits for so many seconds at most; returns its status, or None where it has not ended.
            seconds: the most that the run may take.

        Returns:
            The status, and whether the run was stopped: for its time, or because it hung.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            status = ended(max(0.0, min(_LOOK, until - time.monotonic())))
            if status is not None:
                if status == 0:
                    self._wait_for_the_rest(until)
                return status, False
            if self._idle() > (self.most_idle or seconds):
                break
        stop_group(self.group)
        return ended(_GRACE), True

    def stop(self) -> None:
        """Kills what is left of the run, and what it starts meanwhile."""
        until = time.monotonic() + _GRACE
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, signal.SIGKILL)
        while (pids := list(self._pids())) and time.monotonic() < until:
            for pid in pids:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def _wait_for_the_rest(self, until: float) -> None:
        """Waits for what the first process left (NOTE [Ranks without a parent that waits])."""
        while self._idle() < _LAST_IDLE and self._last[0] and time.monotonic() < until:
            time.sleep(0.05)

    def _idle(self) -> float:
        pids = frozenset(self._pids())
        used, now = sum(map(_cpu_seconds, pids)), time.monotonic()
        if pids != self._last[0] or used > self._last[1] + _IDLE_SHARE * _LOOK:
            self._active, self._last = now, (pids, used)
        self.longest_idle = max(self.longest_idle, now - self._active)
        return now - self._active

    def _pids(self) -> Iterator[int]:
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                fields = stat_of(int(folder.name))
                if not fields or fields[0] in "ZX":  # its parent has not asked for its status yet
                    continue
                own = int(fields[2]) == self.group
                if own or self.variable.encode() in folder.joinpath("environ").read_bytes().split(b"\0"):
                    yield int(folder.name)


def _cpu_seconds(pid: int) -> float:
    return sum(map(int, stat_of(pid)[11:13])) / _TICKS


def stop_group(group: int) -> None:
    """Ends a group of processes: asks, waits, kills."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
        until = time.monotonic() + _GRACE
        while time.monotonic() < until:
            try:
                os.killpg(group, 0)
            except (ProcessLookupError, PermissionError):
                return
            time.sleep(0.05)
