"""Runs the job with a change and tells what came of it. No source file of the user's is touched."""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devsan import overlay
from devsan.errors import DevsanError
from devsan.fix.job import PYTHON, Job
from devsan.fix.outcome import Outcome, read_outcome
from devsan.fix.stage_process import StageProcess
from devsan.numbers import observer, reference

__all__ = ["Laboratory", "Outcome"]

_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
_LEAST_MEMORY = 4 << 30


@dataclass
class Laboratory:
    """Runs experiments on one job. A context manager: what was started is stopped, what was written is removed.

    ``run`` may be called from several threads.

    Attributes:
        job: what runs.
        seconds: the most that one run may take.
        jobs: how many runs at once make sense; as many as there are CPUs for this process without it.
        memory: bytes that a process of a run may have for its data; without it, what is free now for each job.
    """

    job: Job
    seconds: float = 600.0
    jobs: int = 0
    memory: int = 0
    _folder: Path = field(init=False)
    _stage: StageProcess | None = field(default=None, init=False)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1), init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _groups: set[int] = field(default_factory=set, init=False)
    _closed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.jobs = self.jobs or len(os.sched_getaffinity(0))
        self.memory = self.memory or max(_LEAST_MEMORY, _free_memory() // self.jobs)

    def __enter__(self) -> Laboratory:
        self._folder = Path(tempfile.mkdtemp(prefix="devsan-fix-"))
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._stage is not None:
            self._stage.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def stop(self) -> None:
        """Stops all runs, those of other threads too; no other begins."""
        with self._lock:
            self._closed = True
            groups = list(self._groups)
        for group in groups:
            stop_group(group)

    def run(
        self, texts: Mapping[str, str] | None = None, policy: str = "stop", fresh: bool = False, meeting: str = "",
        observed: bool = True, calls: bool = False,
    ) -> Outcome:  # fmt: skip
        """Runs the job once.

        Args:
            texts: the new texts of the files that are changed, by their paths.
            policy: of the emulation: "warn" goes on after mismatches, which is what one device would compute.
            fresh: in a process of its own instead of a fork of the stage.
            observed: whether what it computes is kept.
            calls: whether each call of torch is kept, too (NOTE [Calls] in devsan/numbers/calls.py).
            meeting: a kind of reference run (NOTE [The reference] in devsan/numbers/reference.py).

        Raises:
            DevsanError: the laboratory is closed.
        """
        folder = self._folder / str(next(self._numbers))
        folder.joinpath("numbers").mkdir(parents=True)
        overlaid = None
        if texts:
            overlaid = folder / "overlay"
            overlaid.mkdir()
            overlay.write(overlaid, texts)
        environ = {**self.job.environment, observer.VARIABLE: str(folder / "numbers"), "PYTHONHASHSEED": "0"}
        environ.pop(reference.VARIABLE, None)
        environ.pop(observer.CALLS, None)
        if calls:
            environ[observer.CALLS] = "1"
        if not observed:
            del environ[observer.VARIABLE]
        if meeting:
            environ[reference.VARIABLE] = meeting
        environ = overlay.environment(overlaid, environ)
        words = self.job.run_words(policy, str(folder / "run.dvs"))
        start = time.monotonic()
        run = self._spawn if fresh or self.job.is_command else self._fork
        try:
            code, timed_out = run(words, environ, folder)
        finally:
            if self.job.is_command:
                stop_all_with(f"{observer.VARIABLE}={folder / 'numbers'}")
        return read_outcome(folder, code, timed_out, time.monotonic() - start)

    def _spawn(self, words: Sequence[str], environ: Mapping[str, str], folder: Path) -> tuple[int, bool]:
        entered = [PYTHON, "-m", "devsan.fix.scratch", self.job.folder, str(folder / "scratch")]
        with folder.joinpath("out").open("wb") as out, folder.joinpath("err").open("wb") as err, self._lock:
            self._check_open()
            process = subprocess.Popen(
                [*entered, PYTHON, *words], env=dict(environ), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True,
            )  # fmt: skip
            self._begin(process.pid)
        try:
            return process.wait(self.seconds), False
        except subprocess.TimeoutExpired:
            stop_group(process.pid)
            return process.wait(), True
        finally:
            self._end(process.pid)
            process.wait()

    def _fork(self, words: Sequence[str], environ: Mapping[str, str], folder: Path) -> tuple[int, bool]:
        request = {
            "words": list(words), "folder": self.job.folder, "scratch": str(folder / "scratch"),
            "environment": dict(environ), "out": str(folder / "out"), "err": str(folder / "err"),
        }  # fmt: skip
        with self._lock:
            self._check_open()
            stage = self._stage = self._stage or StageProcess(self.job.environment)
            pid = stage.start(request)
            self._begin(pid)
        try:
            status = stage.wait(pid, self.seconds)
            timed_out = status is None
            if status is None:
                stop_group(pid)
                status = stage.wait(pid, _GRACE)
        finally:
            self._end(pid)
        return -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status), timed_out

    def _check_open(self) -> None:
        if self._closed:
            raise DevsanError("expected a laboratory that is open, got one that is closed")

    def _begin(self, group: int) -> None:
        self._groups.add(group)
        with contextlib.suppress(OSError):  # it has ended
            # Not the address space, of which torch and its threads reserve much that they never touch.
            resource.prlimit(group, resource.RLIMIT_DATA, (self.memory, self.memory))

    def _end(self, group: int) -> None:
        """Stops what the run left behind, and a run that goes on because its caller was interrupted."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        with self._lock:
            self._groups.discard(group)


def _free_memory() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return _LEAST_MEMORY


def stop_all_with(variable: str) -> None:
    """Kills what has ``variable`` ("NAME=text") in its environment: torchrun gives each rank a group of its own."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if variable.encode() in folder.joinpath("environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)


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
