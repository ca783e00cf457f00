"""The processes that observe the rows of a subject on one side: on the GPU, or on an emulated one.

NOTE [A GPU that answers no more]
A kernel that reads an illegal address ends its context: each later call of the process fails. So each row is followed
by a synchronization, and a process whose GPU answers no more leaves a note and is replaced by one that begins with the
next row. A process that dies or that says nothing for a while is replaced in the same way.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PATHS = (HERE, *(ROOT / "tests" / name for name in ("device_checks", "ops", "regressions")), ROOT / "benchmarks")
PATIENCE = 120.0  # seconds without a word
GONE = 3

Observed = dict[str, Any]


class Side:
    """One side of a subject."""

    def __init__(self, subject: str, real: bool, options: argparse.Namespace, scratch: Path) -> None:
        self.subject, self.real, self.options, self.scratch = subject, real, options, scratch
        limits = getattr(importlib.import_module(f"subjects.{subject}"), "JOBS", None)
        self.jobs = min(options.jobs, limits[0 if real else 1]) if limits else options.jobs
        self.end = time.monotonic() + options.seconds

    def observed(self) -> Observed:
        """What was observed of each row, by its title."""
        with ThreadPoolExecutor(self.jobs) as pool:
            parts = list(pool.map(self._part, range(self.jobs)))
        return {title: said for part in parts for title, said in part.items()}

    def _part(self, number: int) -> Observed:
        """The rows of one process after another. A row that a process left unfinished is noted as such."""
        found: Observed = {}
        next_row = 0
        log = self.scratch / f"{self.subject}-{'real' if self.real else 'emulated'}-{id(self)}-{number}"
        while time.monotonic() < self.end:
            log.write_text("", encoding="utf-8")
            words = [
                self.subject, "real" if self.real else self.options.profile, str(number), str(self.jobs), str(next_row),
                str(self.scratch), str(log), self.options.only,
            ]  # fmt: skip
            with log.with_suffix(".err").open("w", encoding="utf-8") as errors:
                process = subprocess.Popen([sys.executable, __file__, *words], env=environment(), stderr=errors)
                why = self._waited(process, log)
            lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
            if why and not lines:
                raise SystemExit(f"gpu-parity: {log.with_suffix('.err').read_text(encoding='utf-8')[-2000:]}")
            found.update({title: said[0] for _, title, *said in lines if said})
            if not why:
                break
            next_row, title, *said = lines[-1]
            next_row += 1
            if not said and time.monotonic() < self.end:
                found[title] = why
        return found

    def _waited(self, process: subprocess.Popen[bytes], log: Path) -> str:
        """Why the process ended before its rows did; empty if it did not."""
        size, since = 0, time.monotonic()
        while process.poll() is None:
            time.sleep(0.05)
            now = log.stat().st_size
            if now != size:
                size, since = now, time.monotonic()
            if time.monotonic() - since > PATIENCE or time.monotonic() > self.end:
                process.kill()
                process.wait()
                return "no answer in time"
        return "" if process.returncode == 0 else f"the process ended with {process.returncode}"


def environment() -> dict[str, str]:
    """That of a process which finds the subjects, the matrix, the samples and the set-ups."""
    paths = os.pathsep.join([*map(str, PATHS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "DEVSAN_AUTOLOAD": "0", "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}


def in_process(file: str, scratch: Path) -> None:
    """Runs a subject's file in a process that emulates nothing, to prepare what both sides need."""
    command = [sys.executable, file, str(scratch)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"gpu-parity: {done.stderr[-2000:]}")


def rows(subject: str, scratch: Path, number: int, jobs: int, first: int, only: str) -> Iterator[tuple[int, str, Any]]:
    """The rows that this process observes."""
    for row, (title, look) in enumerate(importlib.import_module(f"subjects.{subject}").rows(scratch)):
        if row % jobs == number and row >= first and re.search(only, title):
            yield row, title, look


def work(words: list[str]) -> int:
    """Observes rows in this process, and writes a line before each and one behind it."""
    subject, place, number, jobs, first, scratch, log, only = words
    import torch

    torch.set_num_threads(1)
    if place != "real":
        from devsan import emulate

        os.environ["DEVSAN_PARITY_PROFILE"] = place
        module = importlib.import_module(f"subjects.{subject}")
        if not getattr(module, "OUTSIDE", False):
            emulate(gpus=1, profile=place, full_size=getattr(module, "FULL_SIZE", False)).__enter__()
    with open(log, "a", encoding="utf-8", buffering=1) as lines:
        for row, title, look in rows(subject, Path(scratch), int(number), int(jobs), int(first), only):
            lines.write(json.dumps([row, title]) + "\n")
            said = look()
            lines.write(json.dumps([row, title, said]) + "\n")
            if not answers():
                lines.flush()
                os._exit(GONE)
    os._exit(0)  # what runs at exit would raise an error of the GPU again


def answers() -> bool:
    """Whether the GPU of this process still answers."""
    import torch

    if not torch.cuda.is_initialized():
        return True
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(work(sys.argv[1:]))
