"""A change on a terminal: the lines that go and those that come, with what differs marked.

6 - target = torch.zeros(4, 2)
6 + target = torch.zeros(4, 2, device="cuda:1")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from devsan.render.terminal.text import Line, display_width, paragraph
from devsan.render.terminal.truncate import beginning, shortened
from devsan.render.unified_diff import changed_part, replaced

_LEAST = 32  # columns in front of what differs that have room for the beginning of the line as well


def diff_lines(diff: str, room: int) -> Iterator[Line]:
    """Yields the lines that change in a unified diff, in ``room`` columns.

    Lines that come or go alone follow the line that stands in front of them.
    """
    file = ""
    found = list(replaced(diff))
    gutter = max((len(str(each.line + len(each.before) + len(each.after))) for each in found), default=1) + 2
    for each in found:
        if each.file != file:
            file = each.file
            yield from paragraph("   --> ", "frame", f"{file}:{each.line}", room)
        if each.anchor and each.anchor.strip() and not (each.before and each.after):
            number = (each.line if each.before else each.new_line) - 1
            yield [(f"{number:>{gutter}} ", "frame"), (f"  {shortened(each.anchor, room - gutter - 3)}", "")]
        yield from changed_lines(each.before, each.after, each.line, each.new_line, gutter, room)


def changed_lines(
    before: Sequence[str], after: Sequence[str], old: int, new: int, gutter: int, room: int
) -> Iterator[Line]:
    """Yields the lines that go, then those that come.

    Args:
        before: lines that go.
        after: lines that come; where they are as many, each in the place of one.
        old: the number of the first of ``before`` in its file.
        new: that of the first of ``after``.
        gutter: columns of the numbers.
        room: columns of a line, the gutter included; a longer one is cut beside what differs.
    """
    room -= gutter + len(" + ")
    if len(before) == len(after):
        pairs = [_marked(*pair, room) for pair in zip(before, after, strict=True)]
        gone, come = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    else:
        gone, come = ([[(shortened(text, room), style)] for text in lines]
                      for style, lines in (("removed", before), ("added", after)))  # fmt: skip
    for sign, style, lines, first in (("-", "removed", gone, old), ("+", "added", come, new)):
        for at, line in enumerate(lines):
            yield [(f"{first + at:>{gutter}} ", "frame"), (f"{sign} ", style), *line]


def _marked(before: str, after: str, room: int) -> tuple[Line, Line]:
    """Both lines with what differs marked, and with the same beside it: what has no room gives way to "..."."""
    old, new = changed_part(before, after)
    head, tail = before[: old.start], before[old.stop :]
    parts = [shortened(text[part], room) for text, part in ((before, old), (after, new))]
    left = room - max(map(display_width, parts))
    if display_width(head + tail) > left:
        head = head.lstrip(" ")
        head = _end(head, max(left - display_width(tail), left * 2 // 3))
        tail = beginning(tail, left - display_width(head))
    return ([(head, ""), (parts[0], "removed part" if head or tail else "removed"), (tail, "")],
            [(head, ""), (parts[1], "added part" if head or tail else "added"), (tail, "")])  # fmt: skip


def _end(text: str, room: int) -> str:
    if room > _LEAST or display_width(text) <= room:
        return shortened(text, room)
    while text and display_width(f"...{text}") > room:
        text = text[1:]
    return f"...{text}" if text else ""
