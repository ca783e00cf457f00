"""Run files: how they are called and opened, and what a line of one is.

  {"record": "run", "version": 1, "start": "2026-11-21T17:05:03.120Z", ...}    the first line
  {"record": "place", ...}  {"record": "transfers", "rows": [[place, time, until, times, bytes], ...]}
  {"record": "memory", "rows": [[time, GPU, allocated, reserved], ...], "peaks": ...}
  {"record": "peaks", "peaks": [...]}                                          the last of them counts
  {"record": "finding", ...}  {"record": "models", ...}
  {"record": "end", ...}                                                       only if the process came to its end

One JSON object a line, each written by one call, so that a process that is killed leaves whole lines and at most one
that is cut off. What users read is the document that ``devsan report --format json`` makes of it; the lines are
DevSan's own.

NOTE [Whose run file] One launch can be many processes: ranks, and what they start. A rank has its number in the name.
A file that is there is kept, and this process puts its id into the name: it is of another process of the same launch,
or of an earlier launch. Of the latter ``devsan run`` says so before anything starts; with ``--force`` it is replaced,
unless a living process has locked it. ``DEVSAN_LAUNCH`` carries the time of the launch to the children.
"""

from __future__ import annotations

import fcntl
import glob
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from devsan.errors import UsageError
from devsan.run_files import output_file
from devsan.run_files.output_file import with_part

if TYPE_CHECKING:
    from devsan.options import Options

FORMAT = "devsan-run"
VERSION = 2

PHASES = ("load", "forward", "backward", "optimizer")
"""Of a program, in the order of NOTE [Memory by phase] in core/memory/phase.h, where they begin with 1; 0 is none."""
LAUNCH = "DEVSAN_LAUNCH"

_FIRST = b'{"record": "run"'


def is_run_file(path: str) -> bool:
    """Returns whether ``path`` is a file that begins as a run file does; an empty one counts."""
    try:
        with open(path, "rb") as file:
            head = file.read(len(_FIRST))
    except OSError:
        return False
    return head == _FIRST[: len(head)]


def check(options: Options, spelling: str = "--force") -> None:
    """Looks whether run files, or the report, can be written to the output of ``options``, before the program starts.

    Args:
        options: what was asked for.
        spelling: how one says ``force`` there.

    Raises:
        UsageError: the folder does not exist or may not be written to, or another file would be lost.
    """
    if options.report_file:
        output_file.check(options.report_file, options.force, spelling)
        return
    path = name_of(options.output, os.environ)
    output_file.check(path, force=True)
    if output_file.is_taken(path) and not is_run_file(path):
        raise UsageError("a new file or a run file for output", f"{path!r}, which is another file")
    for earlier in _files_at(options.output):
        if _is_locked(earlier):  # by a job of several launches that is running: each node has its own
            continue
        if not options.force:
            output_file.refuse(earlier, spelling)
        elif _is_earlier(earlier, launch_time(os.environ) or time.time()):
            os.remove(earlier)  # or this launch would be read together with ranks of one that had more


def _files_at(pattern: str) -> list[str]:
    """The files that processes of a launch would write, and that are there."""
    if "%p" in pattern:  # another name each time
        return []
    if os.environ.get("RANK"):  # this process is one of several, which other processes started
        return list(filter(is_run_file, [name_of(pattern, os.environ)]))
    escaped = glob.escape(pattern)
    names = [escaped.replace("%r", "*")] if "%r" in pattern else [escaped, with_part(escaped, "rank*")]
    return sorted(file for name in names for file in glob.glob(name) if is_run_file(file))


def name_of(pattern: str, environment: Mapping[str, str]) -> str:
    """Returns the file's name in the process that ``environment`` describes: ``%r`` is its rank, ``%p`` its id.

    Without either of them, the rank of a process that is one of several stands in front of the ending.
    """
    rank = environment.get("RANK", "")
    name = pattern.replace("%r", rank or "0").replace("%p", str(os.getpid()))
    if name != pattern or not rank or environment.get("WORLD_SIZE", "1") in ("", "1"):
        return name
    return with_part(name, f"rank{rank}")


def files_of(name: str) -> list[str]:
    """Returns the run files that ``name`` stands for: itself where it exists, or those of its ranks."""
    if os.path.exists(name):
        return [name]
    return sorted(glob.glob(with_part(glob.escape(name), "rank*"))) or [name]


def launch_time(environment: Mapping[str, str]) -> float | None:
    """Returns when the process was launched that this one descends from; None if it is the first one."""
    try:
        return float(environment.get(LAUNCH, ""))
    except ValueError:
        return None


def open_new(pattern: str, launched: float, force: bool = False) -> tuple[int, str]:
    """Opens this process's run file for appending. See NOTE [Whose run file].

    Args:
        pattern: as the user gave it.
        launched: seconds since the epoch.
        force: replace a run file of an earlier launch.

    Returns:
        A file descriptor that children do not inherit, and the name.

    Raises:
        UsageError: there is no name that is free.
        OSError: it cannot be written.
    """
    name = name_of(pattern, os.environ)
    for path in (name, with_part(name, str(os.getpid())), with_part(name, f"{os.getpid()}-{time.time_ns()}")):
        if _is_earlier(path, launched) and (force or not output_file.is_taken(path)):
            os.unlink(path)
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            continue
        _lock(file)
        return file, path
    raise UsageError("a free name for the run file", repr(name))


def _is_earlier(path: str, launched: float) -> bool:
    return is_run_file(path) and Path(path).stat().st_mtime < launched and not _is_locked(path)


def _lock(file: int) -> bool:
    """Locks an open file for as long as it stays open; False if another process has."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _is_locked(path: str) -> bool:
    with open(path, "rb") as file:
        return not _lock(file.fileno())
