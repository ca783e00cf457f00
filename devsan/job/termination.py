"""SIGTERM, by which launchers end the ranks that are left when one has failed.

A rank that is just making its report finishes it first; of one that is elsewhere, waiting for the others as a rule, the
stack is written down. Nothing here is Python when the signal comes: a rank that waits in a collective runs none.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from devsan.forks import in_each_child

_LINE = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')

_file: int | None = None  # a descriptor: a file object that a child lets go of warns there


def is_request_to_end(error: BaseException) -> bool:
    """Returns whether an exception is how a library has a signal end the program: torch's launchers for SIGTERM."""
    return type(error).__name__ == "SignalException"


def write_stack_to(path: str) -> None:
    """Has the stack of this process written to a file when SIGTERM comes, which then ends it as ever.

    Does nothing where the program has a handler of its own, or none may be set.
    """
    global _file
    if _file is not None or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    try:
        _file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)  # it is open as long as the process
        faulthandler.register(signal.SIGTERM, file=_file, all_threads=False, chain=True)
    except (OSError, RuntimeError, ValueError):
        return
    in_each_child(_forget)


def read_stack(path: str) -> list[dict[str, object]]:
    """Returns the frames in such a file, the innermost first; none where the signal did not come."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            matches = [_LINE.match(line) for line in file]
    except OSError:
        return []
    return [
        {"file": match["file"], "line": int(match["line"]), "function": match["function"]}
        for match in matches
        if match is not None
    ]


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Within ``with held():`` SIGTERM waits for the end of the block. Only the main thread can have it so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True

    previous = signal.getsignal(signal.SIGTERM)
    if previous is None:  # not Python's: it cannot be put back
        yield
        return
    if _file is not None:
        faulthandler.unregister(signal.SIGTERM)
    signal.signal(signal.SIGTERM, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
        if came:
            os.kill(os.getpid(), signal.SIGTERM)


def _forget() -> None:
    """What a fork inherits would write into its parent's file."""
    global _file
    if _file is not None:
        faulthandler.unregister(signal.SIGTERM)
        os.close(_file)
        _file = None
