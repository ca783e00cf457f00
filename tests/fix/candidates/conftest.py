"""A small program and the change of it that ends with the right numbers."""

from __future__ import annotations

import difflib
import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from seeded import stage

from devsan.fix.change import applied
from devsan.fix.experiment import Laboratory
from devsan.fix.job import Job
from devsan.fix.search import Search, search
from devsan.fix.trial import Trial
from devsan.options import Options

_ONE_IN = 10
_IN_CI = 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A search runs a program a dozen times: `make test` has one in ten of them, CI one more, which has an hour."""
    for item in items:
        if {"searched", "fixed_in_ranks"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.drawn(_ONE_IN))
            if zlib.crc32(item.name.encode()) % _ONE_IN >= _IN_CI:
                item.add_marker(pytest.mark.rare)


@pytest.fixture
def searched(tmp_path: Path) -> Callable[..., Search]:
    """Returns the search for a fix of a program's text on so many GPUs, with what else is checked."""

    def run(text: str, gpus: int = 1, check: tuple[str, ...] = ()) -> Search:
        script = tmp_path / "train.py"
        script.write_text(text, encoding="utf-8")
        environ = {**os.environ, "OMP_NUM_THREADS": "1"}
        options = replace(Options().updated({"gpus": str(gpus)}), check=check)
        job = Job(options, (str(script),), str(tmp_path), environ)
        with Laboratory(job, 120, stage=stage()) as laboratory:
            return search(laboratory, lambda *_: None)

    return run


@pytest.fixture
def fixed_in_ranks(tmp_path: Path) -> Callable[[str], str]:
    """Returns the text of a program of two ranks with its verified fix."""

    def run(text: str) -> str:
        script = tmp_path / "train.py"
        script.write_text(text, encoding="utf-8")
        torchrun = ("--", sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
        environ = {**os.environ, "OMP_NUM_THREADS": "1"}
        job = Job(Options().updated({"gpus": "2"}), (*torchrun, str(script)), str(tmp_path), environ)
        with Laboratory(job, 200) as laboratory:
            found = search(laboratory, lambda *_: None)
        assert found.verified, [(trial.status, [str(each.text) for each in trial.changes]) for trial in found.trials]
        (changed,) = applied(found.verified[0].changes).values()
        return changed

    return run


@pytest.fixture
def fixed(searched: Callable[..., Search]) -> Callable[..., list[str]]:
    """Returns the lines that the verified fix of a program's text adds, without their indentation."""

    def run(text: str, gpus: int = 1, check: tuple[str, ...] = ()) -> list[str]:
        found = searched(text, gpus, check)
        assert found.verified, _story(found)
        return _added(text, found.verified[0])

    return run


@pytest.fixture
def ended(searched: Callable[..., Search]) -> Callable[..., list[str]]:
    """Returns the lines that the first change adds with which a program ends: of failures that leave no reference."""

    def run(text: str, gpus: int = 1) -> list[str]:
        found = searched(text, gpus)
        trials = [trial for trial in found.trials if trial.outcome is not None and trial.outcome.ended]
        assert trials, _story(found)
        return _added(text, trials[0])

    return run


def _story(found: Search) -> list[tuple[str, list[str]]]:
    return [(trial.status, [str(change.text) for change in trial.changes]) for trial in found.trials]


def _added(text: str, trial: Trial) -> list[str]:
    (after,) = applied(trial.changes).values()
    lines = difflib.ndiff(text.split("\n"), after.split("\n"))
    return [line[2:].strip() for line in lines if line.startswith("+ ")]
