"""A unified diff, read: which lines of which file give way to which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Replaced:
    """Neighboring lines of a file, and what comes in their place.

    Attributes:
        file: as the diff calls it.
        line: the number of the first of them, or of the line that new lines are put before.
        new_line: the number that the first new line gets.
        before: what goes; nothing where lines are only added.
        after: what comes.
        anchor: the line in front of them, where the diff shows one.
    """

    file: str
    line: int
    new_line: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    anchor: str | None = None


def replaced(diff: str) -> Iterator[Replaced]:
    """Yields what ``diff`` replaces, from its first file's top on."""
    file, old, new = "", 0, 0
    gone: list[str] = []
    come: list[str] = []
    anchor: str | None = None

    def flushed() -> Iterator[Replaced]:
        if gone or come:
            yield Replaced(file, old - len(gone), new - len(come), tuple(gone), tuple(come), anchor)
            gone.clear()
            come.clear()

    left = 0  # lines of the hunk that are still to come, of both sides: "--- x" may be a line of source, too
    for line in diff.split("\n"):
        head = _HUNK.match(line)
        if left <= 0 and head:
            yield from flushed()
            old, new = int(head[1]), int(head[3])
            left = int(head[2] or 1) + int(head[4] or 1)
            old, new = old + (head[2] == "0"), new + (head[4] == "0")
            anchor = None
        elif left <= 0:
            yield from flushed()
            if line.startswith("+++ "):
                file = line[4:].removeprefix("b/")
        elif line.startswith("-"):
            gone.append(_text(line))
            old, left = old + 1, left - 1
        elif line.startswith("+"):
            come.append(_text(line))
            new, left = new + 1, left - 1
        elif not line.startswith("\\"):
            yield from flushed()
            anchor = _text(line)
            old, new, left = old + 1, new + 1, left - 2
    yield from flushed()


def _text(line: str) -> str:
    return line[1:].removesuffix("\r")


def changed_part(before: str, after: str) -> tuple[slice, slice]:
    """Returns what differs of two lines: what is between their common beginning and their common end.

    An attribute begins with its dot: ".to(device)" is put into "x.view(-1)", and not "to(device).".
    """
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    longer = max(before, after, key=len)[: max(len(before), len(after)) - end]
    if start and longer[start - 1] == "." == longer[-1:] and len(longer) > start:
        start, end = start - 1, end + 1
    return slice(start, len(before) - end), slice(start, len(after) - end)
