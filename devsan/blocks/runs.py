"""Names of modules that are numbered in a row, as one name."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*\.)?(\d+)")


def runs_of(names: Iterable[str]) -> list[str]:
    """Returns the names with ``layers.0, layers.1, layers.2`` as ``layers.0-2``.

    Args:
        names: paths of modules; only those that follow each other are joined.
    """
    runs: list[tuple[str, int, int]] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        prefix, number = (match[1] or "", int(match[2])) if match else (name, -1)
        if runs and number >= 0 and runs[-1][0] == prefix and runs[-1][2] == number - 1:
            runs[-1] = (prefix, runs[-1][1], number)
        else:
            runs.append((prefix, number, number))
    return [
        prefix if first < 0 else f"{prefix}{first}" if first == last else f"{prefix}{first}-{last}"
        for prefix, first, last in runs
    ]
