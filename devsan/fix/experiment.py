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
from typing import Any

from devsan import overlay
from devsan.errors import DevsanError
from devsan.experiments import EXPERIMENT
from devsan.fix.job import Job
from devsan.fix.outcome import Outcome, read_outcome
from devsan.fix.run_processes import LEAST_IDLE, RunProcesses, stop_group
from devsan.fix.stage_process import StageProcess
from devsan.numbers import compilation, observer, reference
from devsan.options import VARIABLE

__all__ = ["Laboratory", "Outcome"]

_LEAST_MEMORY = 4 << 30

# NOTE [Ports] A program that listens on a port of its own takes it in every run: two at once collide, and so may one
# that begins right behind another. Such a run is repeated, and from then on the runs of that job wait for each other.
_WAITS = (0.5, 1.0, 2.0, 4.0)  # seconds before it is repeated


@dataclass
class Laboratory:
    """Runs experiments on one job. A context manager: what was started is stopped, what was written is removed.

    ``run`` may be called from several threads.

    Attributes:
        job: what runs.
        seconds: the most that one run may take.
        jobs: how many runs at once make sense; as many as there are CPUs for this process without it. One for a
            command: it is parallel by itself, and its ports are its own.
        compiled: whether torch.compile compiles in each run; it always does in a fresh one (NOTE [Compiled functions]).
        idle_seconds: a run that computes nothing for longer hangs, and is stopped. The first run sets it.
        memory: bytes that a process of a run may have for its data; without it, what is free now for each job.
        stage: the process that runs are forks of, which several laboratories may share; one of its own without it.
    """

    job: Job
    seconds: float = 600.0
    jobs: int = 0
    memory: int = 0
    stage: StageProcess | None = None
    compiled: bool = True
    idle_seconds: float | None = None
    _folder: Path = field(init=False)
    _own_stage: StageProcess | None = field(default=None, init=False)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1), init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _groups: set[int] = field(default_factory=set, init=False)
    _closed: bool = field(default=False, init=False)
    _has_port: bool = field(default=False, init=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.jobs = 1 if self.job.is_command else self.jobs or len(os.sched_getaffinity(0))
        self.memory = self.memory or max(_LEAST_MEMORY, _free_memory() // self.jobs)

    def __enter__(self) -> Laboratory:
        self._folder = Path(tempfile.mkdtemp(prefix="devsan-fix-"))
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._own_stage is not None:
            self._own_stage.close()
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
        observed: bool = True, calls: bool = False, rounds_anew: bool = False, compared: bool = False,
    ) -> Outcome:  # fmt: skip
        """Runs the job once.

        Args:
            texts: the new texts of the files that are changed, by their paths.
            policy: of the emulation: "warn" goes on after mismatches, which is what one device would compute.
            fresh: in a process of its own instead of a fork of the stage, and compiled.
            observed: whether what it computes is kept.
            calls: whether each call of torch is kept, too (NOTE [Calls] in devsan/numbers/calls.py).
            rounds_anew: whether backward passes round otherwise (NOTE [Noise of rounding] in devsan/numbers/noise.py).
            compared: whether its ranks are compared with each other, for a report on the job.
            meeting: a kind of reference run (NOTE [The reference] in devsan/numbers/reference.py).

        Raises:
            DevsanError: the laboratory is closed.
        """
        given = (texts, policy, fresh, meeting, observed, calls, rounds_anew, compared)
        outcome = self._in_turn(*given)
        for seconds in _WAITS:
            if not outcome.lacks_port:
                break
            self._has_port = True
            time.sleep(seconds)
            outcome = self._in_turn(*given)
        return outcome

    def _in_turn(self, *given: Any) -> Outcome:
        with self._turn if self._has_port else contextlib.nullcontext():
            return self._run(*given)

    def _run(
        self, texts: Mapping[str, str] | None, policy: str, fresh: bool, meeting: str, observed: bool, calls: bool,
        rounds_anew: bool, compared: bool,
    ) -> Outcome:  # fmt: skip
        folder = self._folder / str(next(self._numbers))
        folder.joinpath("numbers").mkdir(parents=True)
        overlaid = None
        if texts:
            overlaid = folder / "overlay"
            overlaid.mkdir()
            overlay.write(overlaid, texts)
        environ = {**self.job.environment, observer.VARIABLE: str(folder / "numbers"), "PYTHONHASHSEED": "0"}
        environ.pop(reference.VARIABLE, None)
        environ.pop(VARIABLE, None)  # what it says is among the job's options, if it is meant for them
        for variable, is_set in ((observer.CALLS, calls), (observer.ROUNDING, rounds_anew)):
            environ.pop(variable, None)
            if is_set:
                environ[variable] = "1"
        if not (fresh or self.compiled):
            environ[compilation.DISABLED] = "1"
        if not observed:
            del environ[observer.VARIABLE]
        if meeting:
            environ[reference.VARIABLE] = meeting
        environ = overlay.environment(overlaid, {**environ, EXPERIMENT: str(folder)})
        words = self.job.run_words(policy, str(folder / "run.dvs"), compared)
        start = time.monotonic()
        run = self._spawn if fresh or self.job.is_command else self._fork
        code, timed_out = run(words, environ, folder)
        return read_outcome(folder, code, timed_out, time.monotonic() - start)

    def _spawn(self, words: Sequence[str], environ: Mapping[str, str], folder: Path) -> tuple[int, bool]:
        python = self.job.python
        entered = [python, "-m", "devsan.fix.scratch", self.job.folder, str(folder / "scratch")]
        with folder.joinpath("out").open("wb") as out, folder.joinpath("err").open("wb") as err, self._lock:
            self._check_open()
            process = subprocess.Popen(
                [*entered, python, *words], env=dict(environ), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True,
            )  # fmt: skip
            run = self._begin(process.pid, folder)

        def ended(seconds: float) -> int | None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(seconds)
            return None

        try:
            code, stopped = run.wait(ended, self.seconds)
        finally:
            self._end(run)
            process.wait()
        return process.returncode if code is None else code, stopped

    def _fork(self, words: Sequence[str], environ: Mapping[str, str], folder: Path) -> tuple[int, bool]:
        request = {
            "words": list(words), "folder": self.job.folder, "scratch": str(folder / "scratch"),
            "environment": dict(environ), "out": str(folder / "out"), "err": str(folder / "err"),
        }  # fmt: skip
        with self._lock:
            self._check_open()
            stage = self.stage or self._own_stage
            if stage is None:
                stage = self._own_stage = StageProcess(self.job.environment, self.job.python)
            pid = stage.start(request)
            run = self._begin(pid, folder)
        try:
            status, stopped = run.wait(lambda seconds: stage.wait(pid, seconds), self.seconds)
        finally:
            self._end(run)
        return -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status), stopped

    def _check_open(self) -> None:
        if self._closed:
            raise DevsanError("expected a laboratory that is open, got one that is closed")

    def _begin(self, group: int, folder: Path) -> RunProcesses:
        self._groups.add(group)
        with contextlib.suppress(OSError):  # it has ended
            # Not the address space, of which torch and its threads reserve much that they never touch.
            resource.prlimit(group, resource.RLIMIT_DATA, (self.memory, self.memory))
        return RunProcesses(group, f"{EXPERIMENT}={folder}", self.idle_seconds)

    def _end(self, run: RunProcesses) -> None:
        """Stops what the run left behind, and a run that goes on because its caller was interrupted."""
        run.stop()
        with self._lock:
            self._groups.discard(run.group)
            # Its first run shows how long the job waits by nature: NOTE [A run that hangs].
            self.idle_seconds = self.idle_seconds or max(LEAST_IDLE, 2 * run.longest_idle)


def _free_memory() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return _LEAST_MEMORY
