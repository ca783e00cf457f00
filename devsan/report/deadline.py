"""A call that is broken off when it takes too long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")


class Late(BaseException):
    """Raised in a call whose time is up; not an Exception, so that nothing on the way takes it for its own."""


def within(seconds: float, function: Callable[[], Result]) -> Result:
    """Returns what ``function`` returns.

    The clock is looked at wherever Python enters a function, in this thread: no signal handler and no second thread,
    of which a program that is about to end, or that has its own, could notice something.

    Raises:
        Late: ``function`` took longer than ``seconds``.
    """
    end = time.monotonic() + seconds

    def look(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and time.monotonic() > end:
            raise Late

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        return function()
    finally:
        sys.setprofile(before)
