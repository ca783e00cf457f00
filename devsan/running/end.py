"""Where the steps of a process end, as it shows: two words of 8 bytes in a file, read from outside.

The first is the expected number of steps, 0 if it is not known; the second is 1 if that is only the end of a pass
through the data.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

WORDS = struct.Struct("=2Q")


@dataclass(frozen=True)
class End:
    """Where a program's steps end.

    Attributes:
        steps: with how many.
        of_pass: whether that is the end of a pass through the data alone.
    """

    steps: int
    of_pass: bool


def read(path: str) -> End | None:
    """Returns what is in the file ``path``; None where nobody knows."""
    try:
        with open(path, "rb") as file:
            steps, of_pass = WORDS.unpack(file.read(WORDS.size))
    except (OSError, struct.error):
        return None
    return End(steps, bool(of_pass)) if steps else None
