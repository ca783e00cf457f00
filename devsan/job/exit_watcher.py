"""When the ranks of a job end, and by what.

A rank is a child of its launcher, which alone is told how it ended. Others see it between its death and the moment in
which the launcher asks: a process file descriptor wakes them, and /proc has the wait status (field 52 of
proc_pid_stat(5)). Where the launcher was quicker only the time is known, unless its own error tells
(``read_exits``).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from devsan.job import folder
from devsan.proc import stat_of

_PAUSE = 0.1  # seconds between two looks for ranks that have come


@dataclass(frozen=True)
class Exit:
    """How a process ended.

    Attributes:
        time: seconds since the epoch.
        code: its exit code; None where a signal ended it, or nobody knows.
        signal: that ended it.
    """

    time: float
    code: int | None = None
    signal: int | None = None

    @property
    def is_unknown(self) -> bool:
        """Returns whether nobody knows more than when it ended."""
        return self.code is None and self.signal is None


def exit_of(returncode: int | None, at: float) -> Exit:
    """Returns the end that a return code tells as subprocess and multiprocessing have it: -9 is SIGKILL."""
    if returncode is None:
        return Exit(at)
    return Exit(at, signal=-returncode) if returncode < 0 else Exit(at, code=returncode)


def write_exits(path: str, codes: Mapping[int, int]) -> None:
    """Leaves what a launcher says of the ends of its children: return codes as subprocess has them, by process id."""
    with open(os.path.join(path, f"{os.getpid()}.exits"), "w", encoding="ascii") as file:
        json.dump({str(pid): code for pid, code in codes.items()}, file)


def read_exits(path: str) -> dict[int, int]:
    """Returns what all launchers have left."""
    found: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir(path):
            if name.endswith(".exits"):
                with contextlib.suppress(OSError, ValueError), open(os.path.join(path, name), encoding="ascii") as file:
                    found.update((int(pid), int(code)) for pid, code in json.load(file).items())
    return found


class ExitWatcher:
    """Watches the processes that have a document in a job's folder."""

    def __init__(self, path: str, on_first: Callable[[], None] | None = None) -> None:
        """Watches a job's folder; ``on_first`` is called once, when the first process is seen that is not this one."""
        self._folder = path
        self._on_first = on_first
        self._poll = select.poll()
        self._pids: dict[int, int] = {}  # by file descriptor
        self._seen: set[int] = set()
        self._exits: dict[int, Exit] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watches from a thread until ``close``."""
        self._thread = threading.Thread(target=self._run, name="devsan-job", daemon=True)
        self._thread.start()

    def close(self, patience: float) -> dict[int, Exit]:
        """Waits at most ``patience`` seconds for those that still run; returns the ends of the others, by process."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5.0)
        until = time.monotonic() + patience
        self.look(0.0)
        while self._pids and time.monotonic() < until:
            self.look(_PAUSE)
        for file in list(self._pids):
            self._forget(file)
        return self._exits

    def is_watching(self) -> bool:
        """Returns whether one of the processes seen so far still runs."""
        return bool(self._pids)

    def look(self, pause: float) -> None:
        """Looks for processes that have come, and waits at most ``pause`` seconds for one that ends."""
        self._find()
        for file, _ in self._poll.poll(pause * 1000):
            pid = self._pids[file]
            self._exits.setdefault(pid, exit_of(_status(pid), time.time()))
            self._forget(file)

    def _run(self) -> None:
        while not self._stop.is_set():
            if self._pids:
                self.look(_PAUSE)
            else:
                self._find()
                self._stop.wait(_PAUSE)

    def _find(self) -> None:
        for pid in folder.processes(self._folder):
            if pid in self._seen:
                continue
            self._seen.add(pid)
            if self._on_first is not None and pid != os.getpid():
                first, self._on_first = self._on_first, None
                first()
            try:
                file = os.pidfd_open(pid)
            except ProcessLookupError:
                self._exits.setdefault(pid, Exit(time.time()))
            except (OSError, AttributeError):  # an old kernel: then the documents alone tell
                continue
            else:
                self._pids[file] = pid
                self._poll.register(file, select.POLLIN)

    def _forget(self, file: int) -> None:
        self._poll.unregister(file)
        del self._pids[file]
        with contextlib.suppress(OSError):
            os.close(file)


def _status(pid: int) -> int | None:
    """The return code of a process that has ended and was not waited for yet."""
    fields = stat_of(pid)
    return os.waitstatus_to_exitcode(int(fields[49])) if fields[:1] == ["Z"] and len(fields) > 49 else None
