"""Jobs of several ranks, each a process of its own, on emulated GPUs."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import programs
import pytest

JOBS = Path(__file__).with_name("jobs")
SECONDS = 180  # for a whole job; a job that works takes 10, and a minute where eight compilers run beside it

Start = Callable[..., list[programs.Program]]


def numbers_of(ranks: int | Sequence[int]) -> Sequence[int]:
    """The ranks that a module means by their number, or names."""
    return range(ranks) if isinstance(ranks, int) else ranks


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def checks_of(job: str) -> list[str]:
    """The names of the checks in jobs/<job>, in the order in which they stand there."""
    lines = (JOBS / job).read_text(encoding="utf-8").splitlines()
    return [match[1] for line in lines if (match := re.match(r"(?:def )?(check_\w+)", line)) is not None]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with the argument ``check`` is run for each check of the job that its module names as JOB."""
    if "check" in metafunc.fixturenames:
        metafunc.parametrize("check", checks_of(metafunc.module.JOB))


@pytest.fixture(scope="module")
def start_ranks() -> Iterator[Start]:
    """Starts the processes of ``ranks``; whatever is left of them is killed at the end of the module."""
    started: list[programs.Program] = []

    def start(command: list[str], ranks: int | Sequence[int], **variables: str) -> list[programs.Program]:
        processes = []
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
        started_ranks = numbers_of(ranks)
        for rank in started_ranks:
            numbers = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(len(started_ranks))} | meeting
            processes.append(programs.start(command, env=os.environ | numbers | variables))
        started.extend(processes)
        return processes

    yield start
    for process in started:
        process.kill()


def outputs_of(processes: list[programs.Program], seconds: float = SECONDS) -> list[tuple[int, str, str]]:
    """Exit status, stdout and stderr of each; one that is not done in time is killed."""
    end = time.monotonic() + seconds
    outputs = []
    for process in processes:
        try:
            out, err = process.communicate(timeout=max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += f"\nkilled after {seconds} s"
        outputs.append((process.returncode, out, err))
    return outputs


@pytest.fixture(scope="module")
def finished() -> dict[Any, dict[str, list[str]]]:
    """What became of the jobs of a module, by their variables.

    The tests come in any order, and pytest makes a fixture that is parametrized anew whenever the parameter changes.
    """
    return {}


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, start_ranks: Start, finished: dict[Any, dict[str, list[str]]]
) -> dict[str, list[str]]:
    """What became of each check of the module's JOB on each of its RANKS: "passed", or why not.

    The ranks have the module's VARIABLES, and those that the fixture is parametrized with.
    """
    variables = getattr(request.module, "VARIABLES", {}) | getattr(request, "param", {})
    key = tuple(variables.items())
    if key not in finished:
        finished[key] = outcomes_of(request.module, start_ranks, variables)
    return finished[key]


def outcomes_of(module: Any, start_ranks: Start, variables: dict[str, str]) -> dict[str, list[str]]:
    names = checks_of(module.JOB)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(JOBS / "run.py"), str(JOBS / module.JOB), folder, *names]
        ends = outputs_of(start_ranks(command, module.RANKS, **variables))
        results: list[dict[str, str]] = []
        for rank, (code, _, err) in zip(numbers_of(module.RANKS), ends, strict=True):
            file = Path(folder, f"rank{rank}.json")
            found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
            missing = f"not run on rank {rank}, which ended with {code}:\n{err[-3000:]}"
            results.append(
                {name: found.get(name, missing) for name in names} | {"the end": "passed" if code == 0 else err}
            )
    return {name: [result[name] for result in results] for name in [*names, "the end"]}
