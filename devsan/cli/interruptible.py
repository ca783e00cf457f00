"""Commands that end in order however they are stopped: what they have started and written goes with them."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

EXIT_INTERRUPTED = 130
"""Exit code of a command that was stopped: what a shell says of one that SIGINT ended."""


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Has SIGTERM, by which CI systems stop a job, and SIGINT, which a shell's & ignores, raise KeyboardInterrupt."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
