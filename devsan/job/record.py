"""The document of a rank: what its process knows of itself, for the one who reports on the job.

Written when the rank begins, when it fails and when it ends, each time whole and in one step, so that whoever reads it
finds a whole one, also of a process that was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import devsan
from devsan.diagnosis.source import shown_path
from devsan.diagnostics.messages import recorded, restored
from devsan.introspect.frames.places import package_of
from devsan.job import folder
from devsan.job.numbers import Numbers
from devsan.job.termination import is_request_to_end
from devsan.run_files.recording import command

FORMAT, VERSION = "devsan-rank", 1

_LONGEST = 20_000  # characters of a message


class Record:
    """The document of this process in the job's folder.

    Args:
        path: the job's folder.
        numbers: which rank this is, as far as is known.
    """

    def __init__(self, path: str, numbers: Numbers) -> None:
        self._folder = path
        self._file = ""
        pid = os.getpid()
        process = {"command": _command(), "directory": _directory(), "pid": pid, "parent": os.getppid(),
                   "started": folder.started(pid), "start": time.time(), "host": platform.node()}  # fmt: skip
        self.document: dict[str, Any] = {
            "format": FORMAT, "version": VERSION, "process": process, "gpus": [], "facts": None, "findings": [],
            "places": [], "caught": [], "failure": None, "end": None, "stack": [], "run_file": "",
        }  # fmt: skip
        self.number(numbers)

    def number(self, numbers: Numbers) -> None:
        """Says which rank this is."""
        self.document["process"].update(numbers.as_plain())

    def fail(self, error: BaseException, trace: TracebackType | None) -> None:
        """Says what ended the program; of an end that a signal asked for, where it was then."""
        if is_request_to_end(error):
            self.document["stack"] = _stack(trace)
            return
        self.document["failure"] = {
            "type": type(error).__qualname__, "message": _text(error), "time": time.time(), "place": _place(trace),
        }  # fmt: skip

    def end(self, how: str) -> None:
        """Says that the process came to its end, and the versions, which only a look back may need."""
        self.document["end"] = {"time": time.time(), "how": how}

    def tell_versions(self) -> None:
        """Adds what ran here, and on what."""
        torch = sys.modules.get("torch")
        self.document["process"].update({
            "python": platform.python_version(), "torch": str(getattr(torch, "__version__", "")),
            "platform": platform.platform(), "devsan": _version(),
        })  # fmt: skip

    def write(self) -> None:
        """Writes the document in the place of the one before. A folder that is gone is nobody's to read."""
        process = self.document["process"]
        file = os.path.join(self._folder, f"rank{process['rank']}-{process['pid']}.json")
        text = json.dumps(recorded(self.document), ensure_ascii=True, default=str)
        with contextlib.suppress(FileNotFoundError):
            fresh = f"{file}.{threading.get_ident()}.new"  # the thread of the run file may write as well
            with open(fresh, "w", encoding="ascii") as new:
                new.write(text)
            os.replace(fresh, file)
            if self._file not in ("", file):
                os.unlink(self._file)
            self._file = file


def documents(path: str) -> list[dict[str, Any]]:
    """Returns the documents in a job's folder, by rank. One that cannot be read is left out."""
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(path):
            if name.startswith("rank") and name.endswith(".json"):
                with contextlib.suppress(OSError, ValueError), open(os.path.join(path, name), encoding="ascii") as file:
                    found.append(restored(json.load(file)))
    return sorted(found, key=lambda each: (each["process"]["start"], each["process"]["rank"]))


def launches(found: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Returns documents by launch: one command may launch several jobs, one after the other or side by side.

    A rank that is there twice under one parent was started again by an elastic launcher, and the last one counts; under
    another parent it is of another launch. A node's launcher starts ranks that the other nodes do not have.
    """
    made: list[dict[int, dict[str, Any]]] = []
    for document in found:
        rank, parent = document["process"]["rank"], document["process"]["parent"]
        own = [each for each in made if any(other["process"]["parent"] == parent for other in each.values())]
        free = [each for each in made[-1:] if rank not in each]
        if own or free:
            (own or free)[-1][rank] = document
        else:
            made.append({rank: document})
    return [[each[rank] for rank in sorted(each)] for each in made]


def _command() -> list[str]:
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        return ["python", *map(str, sys.argv)]  # its own words are those of spawn_main; these are its parent's
    return command()


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _version() -> str:
    try:
        return devsan.__version__
    except Exception:  # a copy that is only on the path
        return ""


def _text(error: BaseException) -> str:
    try:
        return str(error)[:_LONGEST]
    except Exception:  # its own __str__
        return ""


def _stack(trace: TracebackType | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append({"file": code.co_filename, "line": trace.tb_lineno, "function": code.co_name})
        trace = trace.tb_next
    return found[::-1]


def _place(trace: TracebackType | None) -> str:
    """The program's innermost line: "train.py:12"."""
    found = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if package_of(file) == "" or not found:
            found = f"{shown_path(file)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
