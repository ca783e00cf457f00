"""Lines of source with what is known about pieces of them written below.

    118 |     cur_out[i, idx, :] += delta
        |     |                     `- cuda:0  float32[4096]
        |     `- cuda:1  float16[1,32,4096]

The pieces are underlined by the style sheet. Words are placed by columns of a fixed-width font, as in a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from devsan.render.html.devices import style_of
from devsan.render.terminal.text import display_width

_TAB = 4
_LONGEST = 400  # characters of a line that are shown; a longer one is data, and not read by people


@dataclass(frozen=True)
class Piece:
    """Text of one look: ``style`` has classes of the style sheet."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Row:
    """One row: a line of source with its number, or (``number`` is None) words below one."""

    number: int | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Mark:
    """What to say about a piece of a line.

    Attributes:
        line: its number.
        start: its first column, from 0, in characters.
        end: the column behind it.
        text: what is said: "cuda:0  float32[4096]".
        device: where the operand is; "" when that is not known.
        offending: torch names it as the one in the wrong place.
    """

    line: int
    start: int
    end: int
    text: str = ""
    device: str = ""
    offending: bool = False


def rows_of(lines: Mapping[int, str], marks: Iterable[Mark] = ()) -> list[Row]:
    """Returns the rows of an excerpt.

    Args:
        lines: source lines by their numbers, as the file has them.
        marks: pieces of these lines; those of other lines are left out.
    """
    by_line: dict[int, list[Mark]] = {}
    for mark in marks:
        by_line.setdefault(mark.line, []).append(mark)
    margin = min((_indent(text) for text in lines.values() if text.strip()), default=0)
    rows: list[Row] = []
    for number, text in sorted(lines.items()):
        shown = _whole_tabs(text)[margin:].rstrip()[:_LONGEST]
        mine = [_moved(mark, text, margin, len(shown)) for mark in by_line.get(number, ())]
        found = sorted((mark for mark in mine if mark.start < mark.end), key=lambda mark: (mark.start, -mark.end))
        rows.append(Row(number, tuple(_underlined(shown, found))))
        rows.extend(_words_below(shown, found))
    return rows


def _indent(text: str) -> int:
    whole = _whole_tabs(text)
    return len(whole) - len(whole.lstrip())


def _whole_tabs(text: str) -> str:
    return text.rstrip("\r\n").replace("\t", " " * _TAB)


def _moved(mark: Mark, text: str, margin: int, width: int) -> Mark:
    """The mark, in columns of the text as it is shown."""
    start, end = (len(_whole_tabs(text[:column] + "|")) - 1 - margin for column in (mark.start, mark.end))
    start = min(max(start, 0), width)
    return Mark(mark.line, start, min(max(end, start), width), mark.text, mark.device, mark.offending)


def _underlined(text: str, marks: Sequence[Mark]) -> Iterator[Piece]:
    """The text in pieces. Where a mark lies inside of another the inner one is drawn: it says more."""
    owner: list[Mark | None] = [None] * len(text)
    for mark in marks:
        owner[mark.start : mark.end] = [mark] * (mark.end - mark.start)
    at = 0
    while at < len(text):
        end = at
        while end < len(text) and owner[end] is owner[at]:
            end += 1
        here = owner[at]
        yield Piece(
            text[at:end], "" if here is None else f"mark {style_of(here.device)}{' offending' * here.offending}"
        )
        at = end


def _words_below(text: str, marks: Sequence[Mark]) -> Iterator[Row]:
    """A row for each mark that has words, the rightmost first; a line leads down to those that follow."""
    said = [mark for mark in marks if mark.text]
    for number in range(len(said) - 1, -1, -1):
        pieces: list[Piece] = []
        column = 0
        others = {mark.start: mark for mark in said[:number] if mark.start < said[number].start}
        for mark in (*others.values(), said[number]):
            place = display_width(text[: mark.start])
            last = mark is said[number]
            pieces.append(Piece(" " * (place - column)))
            pieces.append(Piece("\N{BOX DRAWINGS LIGHT UP AND RIGHT}" if last else "\N{BOX DRAWINGS LIGHT VERTICAL}",
                                f"lead {style_of(mark.device)}"))  # fmt: skip
            column = place + 1
        mark = said[number]
        pieces.append(Piece(f" {mark.text}", f"said {style_of(mark.device)}"))
        yield Row(None, tuple(pieces))
