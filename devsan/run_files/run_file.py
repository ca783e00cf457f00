"""Run files: how they are called and opened, and what a line of one is.

  {"record": "run", "version": 1, "start": "2026-11-21T17:05:03.120Z", ...}    the first line
  {"record": "place", ...}  {"record": "transfers", "rows": [[place, time, until, times, bytes], ...]}
  {"record": "memory", "rows": [[time, GPU, allocated, reserved], ...], "peaks": ...}
  {"record": "finding", ...}  {"record": "models", ...}
  {"record": "end", ...}                                                       only if the process came to its end

One JSON object a line, each written by one call, so that a process that is killed leaves whole lines and at most one
that is cut off. What users read is the document that ``devsan report --format json`` makes of it; the lines are
DevSan's own.

NOTE [Whose run file] One launch can be many processes: ranks, and what they start. A rank has its number in the name.
A file that is older than the launch is an earlier run's and is replaced; one of the same launch, or one that a living
process has locked, is another's, and this process puts its id into the name. ``DEVSAN_LAUNCH`` carries the time of the
launch to the children.
"""

from __future__ import annotations

import fcntl
import glob
import os
import time
from collections.abc import Mapping
from pathlib import Path

from devsan.errors import UsageError

FORMAT = "devsan-run"
VERSION = 2
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


def check(pattern: str) -> None:
    """Looks whether a run file can be written there.

    Raises:
        UsageError: the folder does not exist or may not be written to, or another file would be lost.
    """
    path = name_of(pattern, {})
    check_place(path)
    if os.path.lexists(path) and not (os.path.isfile(path) and is_run_file(path)):
        raise UsageError("a new file or a run file for output", f"{path!r}, which is another file")


def check_place(path: str) -> None:
    """Looks whether a file can be written there.

    Raises:
        UsageError: the folder does not exist or may not be written to, or ``path`` is one itself.
    """
    folder = os.path.dirname(path) or os.curdir
    if not os.path.isdir(folder):
        raise UsageError("output in a folder that exists", repr(folder))
    if os.path.isdir(path):
        raise UsageError("a file for output", f"the directory {path!r}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError("output at a writable path", repr(path))


def name_of(pattern: str, environment: Mapping[str, str]) -> str:
    """Returns the file's name in the process that ``environment`` describes: ``%r`` is its rank, ``%p`` its id.

    Without either of them, the rank of a process that is one of several stands in front of the ending.
    """
    rank = environment.get("RANK", "")
    name = pattern.replace("%r", rank or "0").replace("%p", str(os.getpid()))
    if name != pattern or not rank or environment.get("WORLD_SIZE", "1") in ("", "1"):
        return name
    return with_part(name, f"rank{rank}")


def with_part(name: str, part: str) -> str:
    """Returns ``run.<part>.dvs`` for ``run.dvs``."""
    root, ending = os.path.splitext(name)
    return f"{root}.{part}{ending}"


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


def open_new(pattern: str, launched: float) -> tuple[int, str]:
    """Opens this process's run file for appending. See NOTE [Whose run file].

    Args:
        pattern: as the user gave it.
        launched: seconds since the epoch.

    Returns:
        A file descriptor that children do not inherit, and the name.

    Raises:
        UsageError: what is there is no run file.
        OSError: it cannot be written.
    """
    name = name_of(pattern, os.environ)
    for path in (name, with_part(name, str(os.getpid())), with_part(name, f"{os.getpid()}-{time.time_ns()}")):
        if os.path.lexists(path):
            if not (os.path.isfile(path) and is_run_file(path)):
                raise UsageError("a new file or a run file for output", f"{path!r}, which is another file")
            if Path(path).stat().st_mtime >= launched or _is_locked(path):
                continue
            os.unlink(path)
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except FileExistsError:  # a process of the same launch was quicker
            continue
        _lock(file)
        return file, path
    raise UsageError("a free name for the run file", repr(name))


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
