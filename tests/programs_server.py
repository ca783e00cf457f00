"""Runs programs of Python's, each in a fork of this process, which has imported torch: see programs.py.

What is read from stdin, a line each: {"words", "cwd", "env", "folder", "seconds"}; what is written to the first
descriptor that stdout had: the exit status as subprocess would have it, or null for a program that took too long. The
program's output lies in the folder, in the files "out" and "err".
"""

from __future__ import annotations

import builtins
import gc
import json
import os
import runpy
import signal
import sys
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    requests = os.fdopen(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    import torch  # noqa: F401

    from devsan.core_library import core_with_torch

    core_with_torch()
    gc.freeze()  # what is here already is none of a program's own, and looking at it would copy its pages
    for line in requests:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.close(answers.fileno())
            os.close(requests.fileno())
            become(request)
            return run(request["words"])  # the end of this process is the interpreter's own
        print(json.dumps(wait(pid, request["seconds"])), file=answers, flush=True)


def wait(pid: int, seconds: float) -> int | None:
    until, pause = time.monotonic() + seconds, 0.002
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return os.waitstatus_to_exitcode(ended[1])


def become(request: dict[str, Any]) -> None:
    """Has this process what python's own start would give it."""
    for descriptor, name in ((1, "out"), (2, "err")):
        file = os.open(Path(request["folder"], name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, descriptor)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.orig_argv = [sys.executable, *request["words"]]
    if "DEVSAN_OPTIONS" in os.environ:  # torch calls it at the end of its import
        from devsan import autoload

        autoload.load()


def run(words: list[str]) -> None:
    """Runs a script, ``-m module`` or ``-c code`` as the module ``__main__``."""
    first, rest = words[0], words[1:]
    if first == "-m":
        sys.argv = ["-m", *rest[1:]]
        sys.path.insert(0, os.getcwd())
        return runpy.run_module(rest[0], run_name="__main__", alter_sys=True) and None
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        text, file = rest[0].encode(), "<string>"
    else:
        sys.argv = [first, *rest]
        sys.path.insert(0, os.path.dirname(os.path.realpath(first)))
        text, file = Path(first).read_bytes(), os.path.join(os.getcwd(), first)
        module.__file__ = file
        module.__loader__ = SourceFileLoader("__main__", file)
    sys.modules["__main__"] = module
    try:
        exec(compile(text, file, "exec"), module.__dict__)
    except Exception as error:
        assert error.__traceback__ is not None
        error.with_traceback(error.__traceback__.tb_next)  # without this frame
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


if __name__ == "__main__":
    main()
