"""A job in a folder of a test's, the process that all runs are forks of, and edits that a test makes on purpose."""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devsan.diagnostics.diagnostic import Edit, Place
from devsan.fix.change import Change
from devsan.fix.experiment import Laboratory
from devsan.fix.job import Job
from devsan.fix.stage_process import StageProcess
from devsan.options import Options


def change(path: Path, *replaced: tuple[str, str]) -> Change:
    """Returns the change that puts the second text of each pair in the place of the first, which is there once."""
    text = path.read_text(encoding="utf-8")
    edits = []
    for before, after in replaced:
        assert text.count(before) == 1, before
        begin = text.index(before)
        line = text.count("\n", 0, begin) + 1
        column = begin - (text.rfind("\n", 0, begin) + 1) + 1
        edits.append(Edit(Place(str(path), line, column, line, column + len(before), path=str(path)), before, after))
    return Change("Try it", "use_site", tuple(edits))


@functools.cache
def stage() -> StageProcess:
    """The stage of all searches of this process: one of its own for each takes as long as the search itself."""
    shared = StageProcess({**os.environ, "OMP_NUM_THREADS": "1"})
    atexit.register(shared.close)
    return shared


@contextmanager
def laboratory(folder: Path, *words: str, seconds: float = 200, **more: int) -> Iterator[Laboratory]:
    job = Job(Options().updated({"gpus": "2"}), words, str(folder), {**os.environ, "OMP_NUM_THREADS": "1"})
    with Laboratory(job, seconds, stage=stage(), **more) as found:
        yield found


def script(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    return path


def quiet(what: str) -> None:
    pass
