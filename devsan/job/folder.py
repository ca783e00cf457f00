"""The folder of a job: made by its owner, known to the others by ``DEVSAN_JOB``, removed when the owner ends.

  owner                 "<process id> <start>" of the process that made it and reports
  heir                  the same of the one that reports where the owner is killed: devsan/job/watchdog.py
  command               the words that started the job
  rank<r>-<pid>.json    the document of a rank: devsan/job/record.py
  <pid>.flight          in which collective a process is: core/collectives
  <pid>.stack           where a rank was when it was told to end
  <pid>.tally           what a process found, and how full its GPUs were: devsan/run_files/tally.py
  <pid>.exits           what a launcher says of the ends of its children
  <pid>.shown           what a process has shown of its error, and on which stderr
  run*.dvs              the run files of its processes, where the report on the job is to be a file
  sample                which ranks of how many a launcher has started: devsan/sample/launcher.py
  memory                who holds how much of which GPU: core/memory/shared_table.h
  <pid>-<start>.*       what a process says and shows of itself while it runs: devsan/running/folder.py

A process id alone may come back as another process; with the time of its start it does not.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import TextIO

from devsan.proc import stat_of
from devsan.sample_of_ranks import Sample, from_text

VARIABLE = "DEVSAN_JOB"

_PREFIX = "devsan-job-"
_OWNER, _HEIR, _MEMORY, _SAMPLE, _COMMAND, _RUN_FILE = "owner", "heir", "memory", "sample", "command", "run.dvs"
_SHOWN = ".shown"
_ATTEMPTS = 3
_UNOWNED = 3600.0  # seconds: a folder without an owner that is older was left by a process that was killed right then


def make(command: Sequence[str] = ()) -> str:
    """Makes the folder of a new job, owned by this process, and returns it. Removes those that the killed have left.

    Args:
        command: the words that started the job, as they were typed.

    Raises:
        OSError: there is no place for temporary files.
    """
    _sweep(tempfile.gettempdir())
    path = tempfile.mkdtemp(prefix=_PREFIX)
    _name_process(path, _OWNER, os.getpid())
    with open(os.path.join(path, _COMMAND), "w", encoding="ascii") as file:
        json.dump(list(command), file)
    return path


def leave_to(path: str, pid: int) -> None:
    """Names the process that reports on the job and removes the folder where the owner cannot.

    Raises:
        OSError: the folder is gone.
    """
    _name_process(path, _HEIR, pid)


def command_of(path: str) -> list[str]:
    """Returns the words that started the job; none where nobody knows."""
    try:
        with open(os.path.join(path, _COMMAND), encoding="ascii") as file:
            return [str(word) for word in json.load(file)]
    except (OSError, ValueError):
        return []


def note_sample(path: str, text: str) -> None:
    """Notes that a launcher starts a sample of its ranks. Never raises."""
    with contextlib.suppress(OSError), open(os.path.join(path, _SAMPLE), "w", encoding="ascii") as file:
        file.write(text)


def sample_of(path: str) -> Sample | None:
    """Returns the sample of ranks that a launcher in the job has started; None where none has."""
    with contextlib.suppress(OSError), open(os.path.join(path, _SAMPLE), encoding="ascii") as file:
        return from_text(file.read())
    return None


def remove(path: str) -> None:
    """Removes a job's folder. Never raises."""
    for _ in range(_ATTEMPTS):  # a rank that ends late may write meanwhile
        try:
            for name in os.listdir(path):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(path, name))
            os.rmdir(path)
        except FileNotFoundError:
            return
        except OSError:
            continue


def has_living_owner(path: str) -> bool:
    """Returns whether somebody will report on what is written to the job's folder."""
    return bool(path) and any(is_alive(*process) for process in _named_processes(path))


def running() -> Iterator[str]:
    """Yields the folders of the jobs that run and have theirs where this process has its temporary files."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and has_living_owner(entry.path):
                yield entry.path


def memory_file() -> str:
    """Returns the file by which this process shares the memory of its GPUs; "" where it is in no job."""
    path = os.environ.get(VARIABLE, "")
    return os.path.join(path, _MEMORY) if path and os.path.isdir(path) else ""


def run_file() -> str:
    """Returns the pattern of the run files in the folder of this process's job; "" where it is in none."""
    path = os.environ.get(VARIABLE, "")
    return os.path.join(path, _RUN_FILE) if path and os.path.isdir(path) else ""


def run_files(path: str) -> list[str]:
    """Returns the run files in a job's folder."""
    with contextlib.suppress(OSError):
        return [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".dvs")]
    return []


def processes(path: str) -> dict[int, str]:
    """Returns the ids of the processes that have a document, with the names of the files."""
    found = {}
    with contextlib.suppress(OSError):
        for name in os.listdir(path):
            pid = name.removesuffix(".json").rpartition("-")[2]
            if name.startswith("rank") and name.endswith(".json") and pid.isdecimal():
                found[int(pid)] = name
    return found


def ranks(path: str) -> dict[int, int]:
    """Returns the ranks that have a document, by the ids of their processes."""
    return {pid: int(name.removeprefix("rank").partition("-")[0]) for pid, name in processes(path).items()}


def recordings(path: str) -> Iterator[tuple[int, str]]:
    """Yields the flight recorders in a job's folder, each with the id of its process."""
    yield from _numbered(path, ".flight")


def note_shown(path: str, text: str) -> None:
    """Notes what this process has shown of an error on its stderr. Never raises."""
    name = os.path.join(path, f"{os.getpid()}{_SHOWN}")
    with contextlib.suppress(OSError), open(name, "w", encoding="ascii") as file:
        json.dump({"stderr": _identity(2), "text": text}, file)


def shown(path: str) -> list[str]:
    """Returns the files in which processes of the job have noted what they showed."""
    return [name for _, name in _numbered(path, _SHOWN)]


def shown_where(path: str, stream: TextIO) -> list[str]:
    """Returns what processes of the job have shown of their errors where ``stream`` leads, too.

    Launchers may send the stderr of the ranks to files, and a notebook or a test that of this process elsewhere.
    """
    found = []
    for name in shown(path):
        with contextlib.suppress(OSError, ValueError), open(name, encoding="ascii") as file:
            noted = json.load(file)
            if noted["stderr"] == _identity(stream.fileno()):
                found.append(str(noted["text"]))
    return found


def _identity(descriptor: int) -> list[int]:
    """Which file, terminal or pipe it is."""
    about = os.fstat(descriptor)
    return [about.st_dev, about.st_ino]


def stacks(path: str) -> Iterator[tuple[int, str]]:
    """Yields what ``faulthandler`` has written there, with the ids of the processes."""
    yield from _numbered(path, ".stack")


def started(pid: int) -> int:
    """Returns when a process started, in ticks since the machine did; 0 where it is gone or nobody says."""
    return _stat(pid)[1]


def is_alive(pid: int, start: int) -> bool:
    """Returns whether the process that was started then still runs; one that nobody has waited for does not."""
    state, now = _stat(pid)
    if not state:  # gone, or a system without /proc
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return not os.path.isdir("/proc/self")
    return state not in "ZX" and start in (0, now)


def _numbered(path: str, ending: str) -> Iterator[tuple[int, str]]:
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(path)):
            if name.endswith(ending) and name.removesuffix(ending).isdecimal():
                yield int(name.removesuffix(ending)), os.path.join(path, name)


def owner_of(path: str) -> tuple[int, int] | None:
    """Returns the id and the start of the process that owns a job; None where nobody does."""
    return _process(path, _OWNER)


def _name_process(path: str, name: str, pid: int) -> None:
    with open(os.path.join(path, name), "w", encoding="ascii") as file:
        file.write(f"{pid} {started(pid)}")


def _process(path: str, name: str) -> tuple[int, int] | None:
    try:
        with open(os.path.join(path, name), encoding="ascii") as file:
            pid, start = map(int, file.read().split())
    except (OSError, ValueError):
        return None
    return pid, start


def _named_processes(path: str) -> list[tuple[int, int]]:
    """Those who report on a job: its owner and its heir."""
    return [process for name in (_OWNER, _HEIR) if (process := _process(path, name)) is not None]


def _stat(pid: int) -> tuple[str, int]:
    """State and start of a process, fields 3 and 22 of proc_pid_stat(5)."""
    fields = stat_of(pid)
    return (fields[0], int(fields[19])) if fields else ("", 0)


def _sweep(directory: str) -> None:
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and _is_left(entry):
                remove(entry.path)


def _is_left(entry: os.DirEntry[str]) -> bool:
    try:
        about = entry.stat(follow_symlinks=False)
        if about.st_uid != os.getuid() or not entry.is_dir(follow_symlinks=False):
            return False
    except OSError:
        return False
    if not _named_processes(entry.path):
        return time.time() - about.st_mtime > _UNOWNED
    return not has_living_owner(entry.path)
