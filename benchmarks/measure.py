"""How things are compared: in turns, in one run, and by the median of the ratios of neighbors.

A machine's speed drifts by more than what is measured here. Two things that are timed right after each other see the
same drift, so their ratio does not; the order within a round turns so that nobody always comes first.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")


class WorkerError(RuntimeError):
    """A worker ended instead of answering; the message is the last line that it wrote."""


class Worker:
    """A worker.py in a process of its own, of one of its kinds."""

    def __init__(self, kind: str, python: str = sys.executable) -> None:
        self.kind = kind
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by __exit__)
        environment = {name: text for name, text in os.environ.items() if name != "DEVSAN_OPTIONS"}
        if python != sys.executable:
            environment.pop("PYTHONPATH", None)
        self._process = subprocess.Popen(
            [python, str(WORKER), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**environment, "HF_HUB_OFFLINE": "1"},
        )

    def seconds(self, work: str) -> float:
        """Returns the time of one call of the work, in seconds."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: there will be no answer
            print(work, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            self._process.wait()
            self._errors.seek(0)
            lines = self._errors.read().strip().splitlines() or ["no message"]
            raise WorkerError(f"{self.kind}, {work}: {lines[-1]}")
        return float(answer)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._errors.close()


@dataclass(frozen=True)
class Contender:
    """A work in a worker, and how the table calls it."""

    label: str
    worker: Worker
    work: str


@dataclass(frozen=True)
class Result:
    """What a contender took beside its baseline."""

    label: str
    seconds: float
    baseline: str
    baseline_seconds: float
    ratio: float


def in_turns(baseline: Contender, contenders: list[Contender], rounds: int) -> list[Result]:
    """Times all in turns, for so many rounds, and compares each contender with the baseline."""
    everyone = [baseline, *contenders]
    for each in everyone:
        each.worker.seconds(each.work)  # prepares it, and is not counted
    times: dict[str, list[float]] = {each.label: [] for each in everyone}
    for turn in range(rounds):
        first = turn % len(everyone)
        for each in everyone[first:] + everyone[:first]:
            times[each.label].append(each.worker.seconds(each.work))
    base = times[baseline.label]
    return [
        Result(
            label=each.label,
            seconds=statistics.median(times[each.label]),
            baseline=baseline.label,
            baseline_seconds=statistics.median(base),
            ratio=statistics.median(own / other for own, other in zip(times[each.label], base, strict=True)),
        )
        for each in contenders
    ]
