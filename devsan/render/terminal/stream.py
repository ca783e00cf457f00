"""Where a report is written: whether that is a terminal, how wide it is, and whether it shows colors."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from devsan.render.terminal.text import WIDTH

UNBROKEN = 120
"""Columns of source lines where nothing breaks them, as in a file or a CI log: they are cut there. What is searched for
in such a file, as the sentence of an error, is on one line of it."""

_NARROWEST, _WIDEST = 60, 100


def columns_of(stream: TextIO) -> tuple[int, int]:
    """Returns the columns that prose and source lines have on ``stream``: `UNBROKEN` of a file, and of no terminal."""
    columns = terminal_columns(stream)
    if columns is None:
        return WIDTH, UNBROKEN
    return min(max(columns, _NARROWEST), _WIDEST), columns - (columns == UNBROKEN)


def unbroken_columns(stream: TextIO) -> int:
    """Returns the columns of the terminal behind ``stream``; of a file, where a line is found again as a whole, more
    than any line has."""
    return terminal_columns(stream) or sys.maxsize


def wants_color(stream: TextIO) -> bool:
    """Returns whether to use color: on a terminal, unless NO_COLOR is set; FORCE_COLOR, but for 0, overrides both."""
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return is_terminal(stream)


def is_terminal(stream: TextIO) -> bool:
    """Returns whether ``stream`` is a terminal."""
    try:
        return stream.isatty()
    except Exception:  # a stream that is closed, or not quite a stream
        return False


def terminal_columns(stream: TextIO) -> int | None:
    """Returns the columns of the terminal behind ``stream``, None where there is none."""
    if not is_terminal(stream):
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):  # it only says that it is one
        return WIDTH
