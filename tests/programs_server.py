"""Runs programs of Python's, each in a fork of this process, which has imported torch and the modules named.

See programs.py. What is read from stdin, a line each: {"words", "cwd", "env", "folder"}; what is written to the
descriptor that stdout had: the id of the process that runs it. Its output lies in the folder, in the files "out" and
"err", and, when it has ended, its exit status as subprocess would have it, in the file "code".
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any


def main(libraries: list[str]) -> None:
    del sys.path[0]  # this folder; -P in its place would show in the sys.flags of the programs
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    import torch  # noqa: F401

    from devsan.core_library import core_with_torch

    core_with_torch()
    for name in libraries:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
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
                    return run(request["words"])  # the end of this process is the interpreter's own
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
    try:
        exec(compile(text, file, "exec"), module.__dict__)
    except Exception as error:
        assert error.__traceback__ is not None
        error.with_traceback(error.__traceback__.tb_next)  # without this frame
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
