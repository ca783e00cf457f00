"""Many files, in several processes where that is worth their start."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from devsan.doctor.source.check_result import CheckResult
from devsan.doctor.source.files import check_file, python_files
from devsan.doctor.source.visible import Launched

# A file of 1000 lines takes about 40 ms, a process 200 ms to start; bytes are what is known beforehand.
_WORTH_IT = 2 << 20


def check_files(paths: Sequence[Path], launched: Launched, edits: bool) -> CheckResult:
    """Checks files and those below folders."""
    files = list(python_files(paths))
    processes = min(len(files), os.cpu_count() or 1, 8)
    jobs = [(str(file), launched, edits) for file in files]
    if processes > 1 and sum(map(_size, files)) > _WORTH_IT:
        try:
            # Spawned: nothing of this process, its threads and its torch goes along.
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(processes, mp_context=context) as pool:
                return _together(list(pool.map(_one, jobs, chunksize=4)))
        except (OSError, BrokenProcessPool):
            pass  # no processes to be had: one after the other
    return _together([_one(job) for job in jobs])


def _one(job: tuple[str, Launched, bool]) -> CheckResult:
    name, launched, edits = job
    return check_file(Path(name), launched, edits)


def _together(results: list[CheckResult]) -> CheckResult:
    whole = CheckResult()
    for each in results:
        whole.add(each)
    return whole


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
