"""A call that is broken off when it takes too long.

NOTE [Looking at the clock] Whatever looks at a value passes `is_tensor` in frames/tensors.py, which looks
at the clock. A tracing or profiling function of Python's would see every call without being asked, and
made reports take half as long again; a signal handler or a second thread could be noticed by the program.

NOTE [Whose time] The time is what the thread computes: on a machine that is busy with other things, or beside the
other threads of the program, a diagnosis takes longer and is no worse. The clock on the wall ends it at five times
that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from threading import get_ident
from typing import TypeVar

Result = TypeVar("Result")

_OFTEN = 63  # calls of `look` between two looks, less one: a power of two
_PATIENCE = 5  # see NOTE [Whose time]

_end = inf  # of the thread's own time
_latest = inf  # by the clock
_thread = 0
_calls = 0


class Late(BaseException):
    """Raised in a call whose time is up; not an Exception, so that nothing on the way takes it for its own."""


def within(seconds: float, function: Callable[[], Result]) -> Result:
    """Returns what ``function`` returns.

    Raises:
        Late: ``function`` computed for longer than ``seconds``, and came to a place where the clock is looked at.
    """
    global _end, _latest, _thread
    before = _end, _latest, _thread
    _end, _latest, _thread = time.thread_time() + seconds, time.monotonic() + _PATIENCE * seconds, get_ident()
    try:
        return function()
    finally:
        _end, _latest, _thread = before


def look() -> None:
    """Raises Late if the time of this thread's call of `within` is up."""
    global _calls
    _calls += 1
    if _calls & _OFTEN or _thread != get_ident():
        return
    if time.thread_time() > _end or time.monotonic() > _latest:
        raise Late
