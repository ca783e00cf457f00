"""A process that has imported torch, and forks for each experiment: importing torch takes longer than most runs.

NOTE [The stage] It imports torch and DevSan's core, and no library that asks torch for GPUs when it is imported. A fork
of it becomes ``devsan run`` as python would start it; that torch is there already is the one difference, so that what
is called verified ran once more in a process of its own. Requests are lines of JSON on stdin: {"words", "folder",
"environment", "out", "err"}; the answer is a line with the id of the process, {"started": id}, and when it has ended
one with {"ended": id, "status"}. Its arguments are modules that the forks find imported, too: the caller knows that
these do not ask torch for GPUs. A fork ends with the stage.

NOTE [What forks share] A short run takes as long to begin as to compute: it loads DevSan, and registers a kernel for
each operator, which stays registered when an emulation ends. So the stage loads what a run loads, by name as a run
does, and has an emulation begin and end.

NOTE [The group of a fork] A caller that knows the id may stop the group at once. So both of them make it:
whichever is first, the group is there before the id is told.

NOTE [The end of a fork] The interpreter ends a fork as any process, up to the functions of ``atexit``. What would come
then takes every module apart that the stage has imported, and so copies all memory that a fork shares with it: as long
as a short run takes. It is left out; the system takes the memory.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import sys
from typing import Any

from devsan import overlay
from devsan.core_library import core_with_torch
from devsan.errors import DevsanError
from devsan.fix import scratch

_OF_A_RUN = (
    "devsan.cli.run", "devsan.emulation", "devsan.numbers.observer", "devsan.run_files.writer",  # to begin
    "devsan.failure_report", "devsan.introspect.explain", "devsan.introspect.provenance.earlier",
    "devsan.run_files.document", "devsan.render.terminal.printer",  # at a failure
    "devsan.doctor.live.check", "devsan.job.finalize", "devsan.introspect.provenance.placed",  # to end
)  # fmt: skip
"""What each run of DevSan loads of DevSan."""

_code: int | None = None  # with which a fork ends; None in the stage, and where the interpreter has to send a signal


def main() -> None:
    """Serves requests until stdin is closed."""
    atexit.register(_leave)  # before all that libraries register: the first is called last
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    import torch  # noqa: F401

    core_with_torch()
    for module in (*_OF_A_RUN, *sys.argv[1:]):
        importlib.import_module(module)
    with contextlib.suppress(DevsanError):  # it will be the answer to each run
        sys.modules["devsan.emulation"].emulate().start().stop()
    gc.freeze()
    running: dict[int, int] = {}
    unread = b""
    while True:
        for ready in select.select([requests, *running], [], [])[0]:
            if ready in running:
                pid = running.pop(ready)
                os.close(ready)
                _answer(answers, {"ended": pid, "status": os.waitpid(pid, 0)[1]})
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
                    _become(request)
                    return
                with contextlib.suppress(OSError):  # NOTE [The group of a fork]: it has ended
                    os.setpgid(pid, pid)
                running[os.pidfd_open(pid)] = pid
                _answer(answers, {"started": pid})


def _answer(descriptor: int, answer: dict[str, int]) -> None:
    os.write(descriptor, json.dumps(answer).encode() + b"\n")


def _become(request: dict[str, Any]) -> None:
    """Becomes the program; the end of this process is then the interpreter's own (NOTE [The end of a fork])."""
    os.setpgid(0, 0)  # NOTE [The group of a fork]
    scratch.end_with_parent()
    for descriptor, name in ((1, "out"), (2, "err")):
        file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, descriptor)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    if not scratch.enter(request["folder"], request["scratch"]):
        os.chdir(request["folder"])
    sys.orig_argv = [sys.executable, *request["words"]]
    sys.argv = ["-m", *request["words"][2:]]
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path.insert(0, "")
    overlay.install()
    _run()


def _run() -> None:
    global _code
    _code = 1  # of an exception that nobody catches
    try:
        runpy._run_module_as_main("devsan")  # type: ignore[attr-defined]  # run_module takes __main__ away before the end
        _code = 0
    except SystemExit as left:
        _code = 0 if left.code is None else left.code & 0xFF if isinstance(left.code, int) else 1
        raise
    except KeyboardInterrupt:
        _code = None
        raise


def _leave() -> None:
    if _code is None:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the program may have closed it
            stream.flush()
    os._exit(_code)


if __name__ == "__main__":
    main()
