"""Child processes of multiprocessing, which catch what their target raises and never call ``sys.excepthook``.

NOTE [The end of a child] `BaseProcess._bootstrap` (multiprocessing/process.py) runs the finalizers of
multiprocessing.util while the exception is on its way, then prints the traceback, then waits for threads. So a
finalizer sees the exception, and leaves the report to threading's own shutdown, which comes behind the traceback. A
child that was forked forgets the finalizers of its parent; one that is spawned may meet DevSan before its own start or
after.
"""

from __future__ import annotations

import os
import sys
import threading
from types import TracebackType
from typing import Any, Protocol

from devsan.forks import in_each_child
from devsan.job import member


class Report(Protocol):
    """Reports on an exception."""

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None, is_shown: bool, /
    ) -> None:
        """Reports on ``error``; ``is_shown``: its traceback stands right above."""


class _Here:
    """What multiprocessing's registry refers to: it does not keep it alive."""


_here = _Here()
_report: Report | None = None


def install(report: Report) -> None:
    """Has exceptions that end this process reported on if it is a child, and those of its own children."""
    global _report
    _report = report
    in_each_child(_watch)
    _watch()


def uninstall() -> None:
    """Takes back what ``install`` did."""
    global _report
    _report = None


def has_reported(error: BaseException) -> bool:
    """Returns whether ``error`` repeats that of a child of ``torch.multiprocessing.spawn``, which reported itself."""
    return type(error).__name__ == "ProcessRaisedException" and "DEVSAN_OPTIONS" in os.environ


def _watch() -> None:
    util: Any = sys.modules.get("multiprocessing.util")
    if _report is None or util is None:  # without it this process is no child of multiprocessing
        return
    try:
        util.register_after_fork(_here, _finalize)
        _finalize(_here)
    except Exception:  # another Python's: then its children end as they did before
        return


def _finalize(_: object) -> None:
    from multiprocessing import util

    member.begin_rank()
    util.Finalize(None, _at_the_end, exitpriority=100)


def _at_the_end() -> None:
    from multiprocessing import parent_process

    error = sys.exc_info()[1]
    if parent_process() is None:  # known from the start of its target on: nobody shows this exception but Python
        return
    is_shown = not (isinstance(error, SystemExit) and _left_by_torch(error))  # torch hands it to the parent
    if not is_shown and error is not None:
        error = error.__context__
    if _report is None or not isinstance(error, Exception):
        member.end_child()
        return
    report, kind, trace = _report, type(error), error.__traceback__

    def tell(is_shown: bool = is_shown) -> None:
        report(kind, error, trace, is_shown)
        member.end_child()

    try:
        threading._register_atexit(tell)  # type: ignore[attr-defined]
    except Exception:  # there is no such function in this Python: then before the traceback
        tell(False)


def _left_by_torch(error: SystemExit) -> bool:
    """Whether torch.multiprocessing.spawn caught an error and ended the process for it (_wrap in spawn.py)."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "_wrap" and code.co_filename.replace("\\", "/").endswith("torch/multiprocessing/spawn.py"):
            return True
        trace = trace.tb_next
    return False
