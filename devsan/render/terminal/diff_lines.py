"""A change on a terminal: the lines that go and those that come, with what differs marked.

6 - target = torch.zeros(4, 2)
6 + target = torch.zeros(4, 2, device="cuda:1")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from devsan.render.changed_rows import ChangedRow, rows_of_replaced
from devsan.render.terminal.text import Line, broken_code, paragraph
from devsan.render.terminal.truncate import shortened
from devsan.render.unified_diff import replaced

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
    """Yields the rows of a change: all of their text, so that it can be typed in.

    Args:
        rows: what goes, comes and stays beside it.
        gutter: columns of the numbers.
        room: columns of a line, the gutter included; a longer one wraps, a line beside the change is truncated.
    """
    for row in rows:
        style, width = _STYLES[row.sign], room - gutter - 3
        if row.sign == " ":
            yield [(f"{row.line:>{gutter}} ", "frame"), ("  ", ""), (shortened(row.head, width), "")]
            continue
        for number, pieces in enumerate(_broken(row, style, width)):
            front = f"{'' if number else row.line:>{gutter}} "
            yield [(front, "frame"), (f"{row.sign} ", style), *pieces]


def _broken(row: ChangedRow, style: str, width: int) -> Iterator[Line]:
    """The text of a row in lines, with what differs marked."""
    whole = row.head + row.changed + row.tail
    plain = "" if row.changed or row.instead else style
    part = f"{style} part" if row.head or row.tail else style
    marked = range(len(row.head), len(row.head) + len(row.changed))
    for indent, piece in broken_code(whole, width):
        ends = [piece.start, *(min(max(at, piece.start), piece.stop) for at in (marked.start, marked.stop)), piece.stop]
        before, inside, behind = (whole[start:end] for start, end in pairwise(ends))
        pieces = ((" " * indent + before, plain), (inside, part), (behind, plain))
        yield [each for each in pieces if each[0]]
