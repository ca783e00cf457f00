"""Text in the columns of a terminal: how wide it is, and how it is broken into lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

WIDTH = 80
TAB = 4

DEEP = 7
"""Columns in front of what stands below a place."""

Line = list[tuple[str, str]]
"""Of text and the names of its styles."""

_DEEPEST = 12
_NARROW = 8  # columns that code has at least

# Chinese has no spaces: a line may end beside any of its characters, but not before closing punctuation.
_WIDE = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_CLOSING = "\u3001\u3002\uff0c\uff1b\uff1a\uff09\uff1f\u201d\u300d\u300f"
_OPENING = "\uff08\u201c\u300c\u300e"
_BREAK = re.compile(
    f"(?<=[{_WIDE}])(?<![{_OPENING}])(?=[^{_CLOSING}])|(?<=[^{_OPENING}])(?=[{_WIDE}])(?=[^{_CLOSING}])"
)
_FOLDER = re.compile(r"(?<=/)(?=[^/])")
_CODE_JOINTS = (re.compile(r"(?<=[\s,(\[{=])(?=[^\s)\]}=])"), re.compile(r"(?=\.[a-zA-Z_])"))
_JOINT = re.compile(r"(?<=[/,.(=:_])(?=[^/,.(=:_-])|(?<=\w-)(?=\w)")


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
    """Returns ``text`` in lines that end at column ``width``; only a word that is wider than that is broken.

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
        for piece in _pieces(word, width - max(indent, before)):
            longer = f"{line}{space}{piece}" if line else piece
            if line and before + display_width(longer) > width:
                lines.append(line)
                line, before = piece, indent
            else:
                line = longer
            space = ""
    return [*lines, line] if line else lines


def paragraph(
    head: str, style: str, text: str, width: int, indent: int | None = None, of_text: str = ""
) -> Iterator[Line]:
    """Yields the lines of ``text`` behind ``head``: as it is where it has room, else broken between its words.

    Args:
        head: what the first line begins with.
        style: of ``head``.
        text: the words.
        width: of the terminal.
        indent: columns in front of the other lines; by default those of ``head``, up to a dozen.
        of_text: the style of ``text``.
    """
    if indent is None:
        indent = min(display_width(head), _DEEPEST)
    taken = display_width(head)
    is_short = "\n" not in text and taken + display_width(text) <= width
    lines = [text] if is_short else wrapped(text, indent, taken, width) or [""]
    for number, line in enumerate(lines):
        yield [(" " * indent if number else head, "" if number else style), (line, of_text)]


def broken(line: str, width: int, deeper: int = 2) -> list[str]:
    """Returns ``line`` in lines of ``width`` columns: it keeps its indentation, and the others have ``deeper`` more."""
    text = line.lstrip(" ")
    indent = len(line) - len(text)
    pieces = paragraph(" " * indent, "", text, width, indent + deeper)
    return ["".join(text for text, _ in each) for each in pieces]


def broken_code(line: str, width: int) -> Iterator[tuple[int, slice]]:
    """Yields the parts of a source line for lines of ``width`` columns: the columns in front of each, and where it is.

    Nothing of the line is left out. It is broken after a comma, a bracket or a space, or else before a dot, and the
    rest is indented by four more.
    """
    indent, width = len(line) - len(line.lstrip()), max(width, _NARROW)
    start, before = 0, 0
    while display_width(line[start:]) > width - before:
        end = start + 1
        while display_width(line[start : end + 1]) <= width - before:
            end += 1
        for joint in _CODE_JOINTS:
            at = max((each.start() for each in joint.finditer(line, start + 1, end + 1)), default=start)
            if at - start > (width - before) // 2:
                end = at
                break
        yield before, slice(start, end)
        start, before = end, min(indent + 4, width // 2)
    yield before, slice(start, len(line))


def _pieces(word: str, room: int) -> Iterator[str]:
    """Where a line may end in ``word``: in Chinese anywhere; in a path that has no room of its own behind its folders;
    where that is not enough behind what joins the parts of a name or an expression, and else at any character."""
    for part in [word] if word.isascii() else _BREAK.split(word):
        for name in [part] if display_width(part) <= room else _FOLDER.split(part):
            for piece in [name] if display_width(name) <= room else _JOINT.split(name):
                yield from _cut(piece, room)


def _cut(text: str, room: int) -> Iterator[str]:
    line = ""
    for character in text:
        if line and display_width(line + character) > room:
            yield line
            line = ""
        line += character
    yield line
