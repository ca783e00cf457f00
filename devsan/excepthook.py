"""Where Python shows an uncaught exception: behind its traceback DevSan's report, also on stderr.

Of the program, of a thread, of a child process (multiprocessing_hooks.py) and of a cell in IPython (ipython.py).
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Protocol

from devsan import ipython, multiprocessing_hooks
from devsan.error_report import on_exception
from devsan.errors import tell
from devsan.job import member


class Hook(Protocol):
    """What ``sys.excepthook`` holds."""

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> object:
        """Shows an uncaught exception."""


class ThreadHook(Protocol):
    """What ``threading.excepthook`` holds."""

    def __call__(self, args: threading.ExceptHookArgs, /) -> object:
        """Shows an uncaught exception of a thread."""


_previous: Hook | None = None
_previous_of_threads: ThreadHook | None = None
_askers: set[object] = set()
_reported: BaseException | None = None


def install(asker: object = None) -> None:
    """Puts the report behind whatever shows uncaught exceptions now. A second call for the same asker does nothing.

    Args:
        asker: who asks; the hook stays until each asker has called `uninstall`.
    """
    global _previous, _previous_of_threads
    if _askers:
        _askers.add(asker)
        return
    _askers.add(asker)
    if sys.excepthook is not _traceback_then_report:  # uninstall() may have had to leave it in a chain
        _previous, sys.excepthook = sys.excepthook, _traceback_then_report
    if threading.excepthook is not _thread_then_report:
        _previous_of_threads, threading.excepthook = threading.excepthook, _thread_then_report
    multiprocessing_hooks.install(report)
    ipython.install(_report_of_a_cell)


def uninstall(asker: object = None) -> None:
    """Takes back what ``install`` did. Hooks that others have put before ours since stay; ours is silent in them."""
    if asker not in _askers:
        return
    _askers.discard(asker)
    if _askers:
        return
    if sys.excepthook is _traceback_then_report:
        sys.excepthook = _previous or sys.__excepthook__
    if threading.excepthook is _thread_then_report:
        threading.excepthook = _previous_of_threads or threading.__excepthook__
    multiprocessing_hooks.uninstall()
    ipython.uninstall()


def is_installed() -> bool:
    """Returns whether uncaught exceptions are to be reported on in this process."""
    return bool(_askers)


def report(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None, is_shown: bool = False
) -> None:
    """Reports on ``error`` once, however often it is called. Whatever goes wrong here changes nothing outside.

    Args:
        kind: of the exception.
        error: the exception.
        trace: its traceback.
        is_shown: whether Python's own traceback stands right above, and with it the sentence of the error.
    """
    global _reported
    if is_shown and multiprocessing_hooks.has_reported(error):
        member.note_shown(str(error))  # with the traceback of the child
    if error is _reported or not isinstance(error, Exception) or multiprocessing_hooks.has_reported(error):
        return  # KeyboardInterrupt and its like are not failures of the program
    _reported = error
    try:
        with member.failing(error, trace):
            on_exception(kind, error, trace, is_shown=is_shown)
    except BaseException as failure:  # also a Ctrl-C during the report: the program has ended with its own error
        tell(f"the report is incomplete: {type(failure).__name__}: {failure}")


def _report_of_a_cell(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None, is_shown: bool, /
) -> None:
    report(kind, error, trace, is_shown)
    member.speak()  # a cell may have launched ranks, and the process goes on


def _traceback_then_report(kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> None:
    show = _previous or sys.__excepthook__
    show(kind, error, trace)
    if _askers:
        report(kind, error, trace, is_shown=show is sys.__excepthook__)


def _thread_then_report(args: threading.ExceptHookArgs, /) -> None:
    show = _previous_of_threads or threading.__excepthook__
    show(args)
    if _askers and args.exc_value is not None:
        report(args.exc_type, args.exc_value, args.exc_traceback, is_shown=show is threading.__excepthook__)
