"""A change on a terminal: the lines that go and those that come, with what differs marked.

6 - target = torch.zeros(4, 2)
6 + target = torch.zeros(4, 2, device="cuda:1")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from devsan.render.changed_rows import ChangedRow, rows_of_replaced
from devsan.render.terminal.text import Line, display_width, paragraph
from devsan.render.terminal.truncate import beginning, shortened
from devsan.render.unified_diff import replaced

_LEAST = 32  # columns in front of what differs that have room for the beginning of the line as well
_STYLES = {"-": "removed", "+": "added", " ": ""}


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
        yield from changed_lines(rows_of_replaced(each), gutter, room)


def changed_lines(rows: Sequence[ChangedRow], gutter: int, room: int) -> Iterator[Line]:
    """Yields the rows of a change.

    Args:
        rows: what goes, comes and stays beside it.
        gutter: columns of the numbers.
        room: columns of a line, the gutter included; a longer one is cut beside what differs.
    """
    for row in rows:
        style = _STYLES[row.sign]
        yield [(f"{row.line:>{gutter}} ", "frame"), (f"{row.sign} ", style), *_text(row, style, room - gutter - 3)]


def _text(row: ChangedRow, style: str, room: int) -> Line:
    """The text with what differs marked: both lines of a pair are cut alike, so that they can be compared."""
    if not row.changed and not row.instead:
        return [(shortened(row.head, room), style)]
    changed, instead = _whole(row.changed, room), _whole(row.instead, room)
    left = room - max(display_width(changed), display_width(instead))
    head, tail = row.head, row.tail
    if display_width(head + tail) > left:
        head = _end(head, max(left - display_width(tail), left * 2 // 3))
        tail = beginning(tail, left - display_width(head))
    return [(head, ""), (changed, f"{style} part" if head or tail else style), (tail, "")]


def _whole(text: str, room: int) -> str:
    """``text`` with the blanks at its ends, which part it from what stands beside it; shortened where it is wider."""
    return text if display_width(text) <= room else shortened(text, room)


def _end(text: str, room: int) -> str:
    """``text`` in ``room`` columns, with its end: without its middle, or its beginning where both have no room."""
    if display_width(text) <= room:
        return text
    if room > _LEAST:
        blank = text[len(text.rstrip()) :]
        return shortened(text, room - len(blank)) + blank
    while text and display_width(f"...{text}") > room:
        text = text[1:]
    return f"...{text}" if text else ""
