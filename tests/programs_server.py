"""Runs programs of Python's, each in a fork of this process, which has imported torch and the modules named.

See programs.py. What is read from stdin, a line each: {"words", "cwd", "env", "folder"}; what is written to the
descriptor that stdout had: the id of the process that runs it. Its output lies in the folder, in the files "out" and
"err", and, when it has ended, its exit status as subprocess would have it, in the file "code".
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import sys
import threading
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

# What most ways in import: hundreds of files, which a program of a few lines waits for.
_PARTS = ("devsan.cli.run", "devsan.cli.report", "devsan.cuda.surface", "devsan.emulation", "devsan.failure_report")


def main(libraries: list[str]) -> None:
    del sys.path[0]  # this folder; -P in its place would show in the sys.flags of the programs
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    import torch  # noqa: F401

    from devsan.core_library import core_with_torch

    core_with_torch()
    for name in (*_PARTS, *libraries):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.modules["devsan.emulation"].emulate().start().stop()  # which registers DevSan's operators, once in a process
    gc.freeze()  # what is here already is none of a program's own, and looking at it would copy its pages
    running: dict[int, tuple[int, Path]] = {}  # by the descriptor of the process: its id, its folder
    unread = b""
    while True:
        for ready in select.select([requests, *running], [], [])[0]:
            if ready in running:
                end(*running.pop(ready))
                os.close(ready)
                continue
            read = os.read(requests, 1 << 20)
            if not read:
                return
            *lines, unread = (unread + read).split(b"\n")
            for line in lines:
                request = json.loads(line)
                pid = os.fork()
                if pid == 0:
                    for descriptor in (requests, answers, *running):
                        os.close(descriptor)
                    become(request)
                    leave(exit_code_of(run, request["words"]))
                running[os.pidfd_open(pid)] = (pid, Path(request["folder"]))
                os.write(answers, f"{pid}\n".encode())


def end(pid: int, folder: Path) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(FileNotFoundError):  # nobody waits for it any more
        folder.joinpath("ended").write_text(str(code))
        folder.joinpath("ended").rename(folder / "code")


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
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if "DEVSAN_OPTIONS" in os.environ:  # torch calls it at the end of its import
        from devsan import autoload

        autoload.load()


def exit_code_of(function: Callable[..., None], *arguments: Any) -> int:
    """Calls a function as the interpreter runs a program: tells of what it raised, and returns the exit code.

    What it makes of an interrupt, a signal, is left to it.
    """
    error: Exception | None = None
    try:
        function(*arguments)
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    except Exception as raised:
        error = raised
    if error is None:
        return 0
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    return exit_code_of(sys.excepthook, type(error), error.with_traceback(trace), trace) or 1


def leave(code: int) -> None:
    """Ends this process as the interpreter does, but for taking apart each of its thousands of modules.

    That takes longer than most programs do. In a fork, each page that it writes to is copied first.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code & 0xFF)


def run(words: list[str]) -> None:
    """Runs a script, ``-m module`` or ``-c code`` as ``__main__``, which stays until the interpreter ends."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    first, rest = words[0], words[1:]
    if first == "-m":
        sys.argv = ["-m", *rest[1:]]
        sys.path.insert(0, os.getcwd())
        runpy._run_module_as_main(rest[0])  # as python does; run_module takes __main__ away again
        return
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        text, file = rest[0].encode(), "<string>"
    else:
        sys.argv = [first, *rest]
        sys.path.insert(0, os.path.dirname(os.path.realpath(first)))
        text, file = Path(first).read_bytes(), os.path.join(os.getcwd(), first)
        module.__file__, module.__loader__ = file, SourceFileLoader("__main__", file)
    exec(compile(text, file, "exec"), module.__dict__)


if __name__ == "__main__":
    main(sys.argv[1:])
