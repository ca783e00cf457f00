"""Text in the columns of a terminal: how wide it is, and how it is broken into lines."""

from __future__ import annotations

import re
import unicodedata

WIDTH = 80
TAB = 4

Line = list[tuple[str, str]]

# Chinese has no spaces: a line may end beside any of its characters, but not before closing punctuation.
_WIDE = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_CLOSING = "\u3001\u3002\uff0c\uff1b\uff1a\uff09\uff1f\u201d\u300d\u300f"
_OPENING = "\uff08\u201c\u300c\u300e"
_BREAK = re.compile(
    f"(?<=[{_WIDE}])(?<![{_OPENING}])(?=[^{_CLOSING}])|(?<=[^{_OPENING}])(?=[{_WIDE}])(?=[^{_CLOSING}])"
)


def display_width(text: str) -> int:
    """Returns the columns that ``text`` takes on a terminal: a Chinese character takes two."""
    if text.isascii():
        return len(text) + (TAB - 1) * text.count("\t")
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


def wrapped(text: str, indent: int, first: int | None = None, width: int = WIDTH) -> list[str]:
    """Returns ``text`` in lines that end at column ``width``; a word that is wider than that stays whole.

    Args:
        text: words with one space between them; Chinese is broken between its characters.
        indent: columns in front of each line; they are not part of what is returned.
        first: columns in front of the first line, where they are others.
        width: of the terminal.
    """
    lines: list[str] = []
    line = ""
    before = indent if first is None else first
    for word in text.split():
        space = " "
        for piece in [word] if word.isascii() else _BREAK.split(word):
            longer = f"{line}{space}{piece}" if line else piece
            if line and before + display_width(longer) > width:
                lines.append(line)
                line, before = piece, indent
            else:
                line = longer
            space = ""
    return [*lines, line] if line else lines
