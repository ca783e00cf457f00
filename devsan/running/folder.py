"""Where the processes of one user announce themselves: in the folder of their job, which is removed with it; those of
no job in ``$XDG_RUNTIME_DIR/devsan``, else in a folder of this user's in the one for temporary files.

  <pid>-<start>.json    what a process says of itself: devsan/running/announcement.py
  <pid>-<start>.gauges  what it holds: NOTE [Gauges] in core/memory/gauges.h
  <pid>-<start>.progress  how many steps there will be: devsan/running/end.py

The names tell which process a file is of, so that those of killed ones are known without being read. A folder is used
only where it belongs to this user and no other user can read it or write to it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator

from devsan.job import folder as job

ANNOUNCEMENT, GAUGES, PROGRESS = ".json", ".gauges", ".progress"

_NAME = re.compile(r"(\d+)-(\d+)(\.json|\.gauges|\.progress)")


def make() -> str:
    """Returns where this process is to announce itself; the folder is made where there is none yet.

    Raises:
        OSError: there is no place for it that is this user's alone.
    """
    of_job = os.environ.get(job.VARIABLE, "")
    if job.has_living_owner(of_job):
        return of_job
    for path in _places():
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700)
            if _is_own(path):
                _sweep(path)
                return path
    raise OSError("no folder of this user's alone")


def is_of_a_job(path: str) -> bool:
    """Returns whether a folder that ``make`` has returned is a job's, with which what is in it is removed."""
    return path not in _places()


def leave(path: str) -> None:
    """Removes a folder that ``make`` has returned, if nobody else is announced there. Never raises."""
    if not is_of_a_job(path):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def stem() -> str:
    """Returns what the names of this process's files begin with."""
    pid = os.getpid()
    return f"{pid}-{job.started(pid)}"


def announcements() -> Iterator[tuple[str, str]]:
    """Yields the announcements of the processes that run, each behind the folder of its job, "" where it is in none.

    Where there is no job, files of processes that have ended are removed.
    """
    for place in _places():
        if _is_own(place):
            _sweep(place)
            for path in _living(place):
                yield "", path
    for of_job in job.running():
        if _is_own(of_job):
            for path in _living(of_job):
                yield of_job, path


def _living(place: str) -> Iterator[str]:
    for name, is_alive in _files(place):
        if is_alive and name.endswith(ANNOUNCEMENT):
            yield os.path.join(place, name)


def _sweep(place: str) -> None:
    for name, is_alive in _files(place):
        if not is_alive:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(place, name))


def _files(place: str) -> list[tuple[str, bool]]:
    """The files of processes in a folder, each with whether the process runs."""
    try:
        matches = filter(None, map(_NAME.fullmatch, sorted(os.listdir(place))))
    except OSError:
        return []
    return [(match[0], job.is_alive(int(match[1]), int(match[2]))) for match in matches]


def _places() -> list[str]:
    """Folders for processes of no job: one that was started without a session has no runtime folder."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    places = [os.path.join(runtime, "devsan")] if os.path.isabs(runtime) else []
    return [*places, os.path.join(tempfile.gettempdir(), f"devsan-{os.getuid()}")]


def _is_own(path: str) -> bool:
    try:
        about = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o077
