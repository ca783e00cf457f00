"""Text in the columns of a terminal: how wide it is, and how it is broken into lines."""

from __future__ import annotations

import unicodedata

WIDTH = 80
TAB = 4

Line = list[tuple[str, str]]


def display_width(text: str) -> int:
    """Returns the columns that ``text`` takes on a terminal: a Chinese character takes two."""
    width = 0
    for character in text:
        if character == "\t":
            width += TAB
        elif unicodedata.combining(character) == 0 and unicodedata.category(character) not in ("Cf", "Mn", "Me"):
            width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def padded(text: str, column: list[str]) -> str:
    """Returns ``text`` as wide as the widest of ``column``."""
    return text + " " * (max(map(display_width, column)) - display_width(text))


def wrapped(text: str, indent: int, first: int | None = None) -> list[str]:
    """Returns ``text`` in lines that end at column 80, broken at spaces; a word that is wider than that stays whole.

    Args:
        text: words with one space between them.
        indent: columns in front of each line; they are not part of what is returned.
        first: columns in front of the first line, where they are others.
    """
    lines: list[str] = []
    line = ""
    before = indent if first is None else first
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if line and before + display_width(longer) > WIDTH:
            lines.append(line)
            line, before = word, indent
        else:
            line = longer
    return [*lines, line] if line else lines
