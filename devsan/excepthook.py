"""After Python's traceback of an uncaught exception: DevSan's report on it, also on stderr."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Protocol

from devsan.errors import tell


class Hook(Protocol):
    """What ``sys.excepthook`` holds."""

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> object:
        """Shows an uncaught exception."""


_previous: Hook | None = None
_reported: BaseException | None = None


def install() -> None:
    """Puts the report behind whatever ``sys.excepthook`` is now. A second call does nothing."""
    global _previous
    if _previous is None:
        _previous, sys.excepthook = sys.excepthook, _traceback_then_report


def is_installed() -> bool:
    """Returns whether uncaught exceptions are to be reported on in this process."""
    return _previous is not None


def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Reports on ``error`` once, however often it is called. Whatever goes wrong here changes nothing outside."""
    global _reported
    if error is _reported or not isinstance(error, Exception):
        return  # KeyboardInterrupt and its like are not failures of the program
    _reported = error
    try:
        from devsan.report import on_exception
    except ModuleNotFoundError as missing:
        if missing.name == "devsan.report":
            return  # an installation without reports
        tell(f"no report: {missing}")
        return
    except Exception as failure:
        tell(f"no report: {type(failure).__name__}: {failure}")
        return
    try:
        on_exception(kind, error, trace)
    except BaseException as failure:  # also a Ctrl-C during the report: the program has ended with its own error
        tell(f"the report ended early: {type(failure).__name__}: {failure}")


def _traceback_then_report(kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> None:
    (_previous or sys.__excepthook__)(kind, error, trace)
    report(kind, error, trace)
