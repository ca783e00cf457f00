"""Runs the job with a change and tells what came of it. No file of the user's is touched."""

from __future__ import annotations

import contextlib
import json
import os
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
from devsan.fix.job import PYTHON, Job
from devsan.numbers import observer
from devsan.numbers.comparison import Event, read_events
from devsan.run_files.reader import read_run

_GRACE = 5.0  # seconds between SIGTERM and SIGKILL


@dataclass(frozen=True)
class Outcome:
    """What one run came to.

    Attributes:
        exit_code: negative for the end by a signal.
        timed_out: whether it was stopped for its time.
        findings: of the run's file, or of the job's, as docs/reference/run.schema.json has them.
        numbers: what it computed, by process.
        peaks: the most that was allocated on each GPU, in bytes.
        places: the lines that moved tensors between devices, as docs/reference/run.schema.json has them.
        seconds: of wall time.
        error: the last line that it wrote on stderr.
        models: of the run's file, or of the job's, as docs/reference/run.schema.json has them.
    """

    exit_code: int
    timed_out: bool
    findings: Sequence[Mapping[str, Any]]
    numbers: Mapping[str, Sequence[Event]]
    peaks: Mapping[str, int]
    places: Sequence[Mapping[str, Any]]
    seconds: float
    error: str = ""
    models: Sequence[Mapping[str, Any]] = ()

    @property
    def transfers(self) -> int:
        """Returns how often tensors moved between devices."""
        return sum(place["times"] for place in self.places)

    @property
    def transferred(self) -> int:
        """Returns the bytes of all transfers."""
        return sum(place["bytes"] for place in self.places)

    @property
    def ended(self) -> bool:
        """Whether the program came to its end."""
        return self.exit_code == 0 and not self.timed_out


@dataclass
class Laboratory:
    """Runs experiments on one job. A context manager: what was started is stopped, what was written is removed.

    Attributes:
        job: what runs.
        seconds: the most that one run may take.
    """

    job: Job
    seconds: float = 600.0
    _folder: Path = field(init=False)
    _stage: subprocess.Popen[str] | None = field(default=None, init=False)
    _count: int = field(default=0, init=False)

    def __enter__(self) -> Laboratory:
        self._folder = Path(tempfile.mkdtemp(prefix="devsan-fix-"))
        return self

    def __exit__(self, *_: object) -> None:
        if self._stage is not None:
            self._stage.kill()
            self._stage.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, texts: Mapping[str, str] | None = None, policy: str = "stop", fresh: bool = False) -> Outcome:
        """Runs the job once.

        Args:
            texts: the new texts of the files that are changed, by their paths.
            policy: of the emulation: "warn" goes on after mismatches, which is what one device would compute.
            fresh: in a process of its own instead of a fork of the stage.
        """
        self._count += 1
        folder = self._folder / str(self._count)
        folder.joinpath("numbers").mkdir(parents=True)
        overlaid = None
        if texts:
            overlaid = folder / "overlay"
            overlaid.mkdir()
            overlay.write(overlaid, texts)
        environ = {**self.job.environment, observer.VARIABLE: str(folder / "numbers"), "PYTHONHASHSEED": "0"}
        environ = overlay.environment(overlaid, environ)
        words = self.job.run_words(policy, str(folder / "run.dvs"))
        start = time.monotonic()
        if fresh or self.job.is_command:
            status, timed_out = self._spawn(words, environ, folder)
        else:
            status, timed_out = self._fork(words, environ, folder)
        return _outcome(folder, status, timed_out, time.monotonic() - start)

    def _spawn(self, words: Sequence[str], environ: Mapping[str, str], folder: Path) -> tuple[int, bool]:
        with folder.joinpath("out").open("wb") as out, folder.joinpath("err").open("wb") as err:
            process = subprocess.Popen(
                [PYTHON, *words], cwd=self.job.folder, env=dict(environ), stdin=subprocess.DEVNULL, stdout=out,
                stderr=err, start_new_session=True,
            )  # fmt: skip
            try:
                return process.wait(self.seconds), False
            except subprocess.TimeoutExpired:
                _stop(process.pid)
                return process.wait(), True

    def _fork(self, words: Sequence[str], environ: Mapping[str, str], folder: Path) -> tuple[int, bool]:
        stage = self._stage or self._start_stage()
        assert stage.stdin is not None and stage.stdout is not None
        request = {
            "words": list(words), "folder": self.job.folder, "environment": dict(environ), "out": str(folder / "out"),
            "err": str(folder / "err"),
        }  # fmt: skip
        print(json.dumps(request), file=stage.stdin, flush=True)
        pid = int(self._answer(stage)["started"])
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            _stop(pid)

        timer = threading.Timer(self.seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            status = int(self._answer(stage)["status"])
        except BaseException:
            _stop(pid)
            raise
        finally:
            timer.cancel()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # what it left behind
        return os.waitstatus_to_exitcode(status), stopped.is_set()

    def _start_stage(self) -> subprocess.Popen[str]:
        environ = {name: text for name, text in self.job.environment.items() if not name.startswith("DEVSAN_")}
        self._stage = subprocess.Popen(
            [PYTHON, "-m", "devsan.fix.stage"], env={**environ, "PYTHONHASHSEED": "0"}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        return self._stage

    @staticmethod
    def _answer(stage: subprocess.Popen[str]) -> Any:
        assert stage.stdout is not None
        line = stage.stdout.readline()
        if not line:
            raise DevsanError("expected a process that runs experiments, got its end")
        return json.loads(line)


def _stop(group: int) -> None:
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


def _outcome(folder: Path, code: int, timed_out: bool, seconds: float) -> Outcome:
    findings: list[Mapping[str, Any]] = []
    job_findings: list[Mapping[str, Any]] = []
    models: list[Mapping[str, Any]] = []
    peaks: dict[str, int] = {}
    places: list[Mapping[str, Any]] = []
    for path in sorted(folder.glob("*.dvs")):
        with contextlib.suppress(DevsanError):
            run = read_run(str(path))
            findings += run["findings"]
            models += run["models"]
            if run["job"] is not None and not job_findings:
                job_findings = list(run["job"]["findings"])
            for device in run["memory"]["devices"]:
                peaks[device["device"]] = max(peaks.get(device["device"], 0), device["peak_allocated"])
            places += run["places"]
    lines = folder.joinpath("err").read_text(encoding="utf-8", errors="replace").splitlines()
    own = [line for line in lines if line.strip() and not line.startswith(("devsan:", " "))]
    return Outcome(
        code, timed_out, job_findings or findings, read_events(folder / "numbers"), peaks, places, seconds,
        own[-1] if own else "", models,
    )  # fmt: skip
