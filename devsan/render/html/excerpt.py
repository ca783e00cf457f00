"""Lines of source with what is known about pieces of them written below.

    118 |     cur_out[i, idx, :] += delta
        |     |                     `- cuda:0  float32[4096]
        |     `- cuda:1  float16[1,32,4096]

The pieces are underlined by the style sheet. Words are placed by columns of a fixed-width font, as in a terminal; where
the window is too narrow for that the style sheet breaks the line, and each word stands in a row of its own with the
piece that it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from devsan.diagnostics.diagnostic import Label
from devsan.render.html.devices import style_of
from devsan.render.terminal.text import display_width
from devsan.render.terminal.truncate import cut, dedented, without_tabs

_LONGEST = 400  # columns of a line that are shown; a longer one is data, and not read by people
_LONGEST_PIECE = 32  # columns of a piece that stands beside its word


@dataclass(frozen=True)
class Piece:
    """Text of one look: ``style`` has classes of the style sheet. ``of``: the piece of source that words are about."""

    text: str
    style: str = ""
    of: str = ""


@dataclass(frozen=True)
class Row:
    """One row: a line of source with its number, or (``number`` is None) words below one.

    ``columns``: that the line takes with all words below it.
    """

    number: int | None
    pieces: tuple[Piece, ...]
    columns: int = 0


@dataclass(frozen=True)
class Mark(Label):
    """A label whose operand is on a device; "" when that is not known."""

    device: str = ""

    @property
    def text(self) -> str:
        """What is said: "cuda:0  float32[4096]"."""
        return "; ".join(self.texts)


def rows_of(lines: Mapping[int, str], marks: Iterable[Mark] = ()) -> list[Row]:
    """Returns the rows of an excerpt.

    Args:
        lines: source lines by their numbers, as the file has them.
        marks: pieces of these lines; those of other lines are left out.
    """
    by_line: dict[int, list[Mark]] = {}
    for mark in marks:
        by_line.setdefault(mark.line, []).append(mark)
    whole = [(number, *without_tabs(text.rstrip(), by_line.get(number, ()))) for number, text in sorted(lines.items())]
    margin = min((len(text) - len(text.lstrip()) for _, text, _ in whole if text), default=0)
    rows: list[Row] = []
    for number, text, mine in whole:
        shown, moved = cut(*dedented(text, mine, margin), _LONGEST)
        inside = (replace(mark, end=min(mark.end, len(shown))) for mark in moved)
        found = sorted((mark for mark in inside if mark.start < mark.end), key=lambda mark: (mark.start, -mark.end))
        rows.append(Row(number, tuple(_underlined(shown, found))))
        rows.extend(_words_below(shown, found))
    return rows


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
    ends = [display_width(text[: mark.start]) + 2 + display_width(mark.text) for mark in said]
    columns = max(display_width(text), *ends) if ends else 0
    for number in range(len(said) - 1, -1, -1):
        mark = said[number]
        pieces: list[Piece] = []
        column = 0
        for other in {each.start: each for each in said[:number] if each.start < mark.start}.values():
            place = display_width(text[: other.start])
            pieces.append(Piece(" " * (place - column), "gap"))
            pieces.append(Piece("\N{BOX DRAWINGS LIGHT VERTICAL}", f"gap lead {style_of(other.device)}"))
            column = place + 1
        pieces.append(Piece(" " * (display_width(text[: mark.start]) - column), "gap"))
        piece = cut(text[mark.start : mark.end], (), _LONGEST_PIECE)[0]
        pieces.append(Piece("\N{BOX DRAWINGS LIGHT UP AND RIGHT}", f"lead {style_of(mark.device)}", piece))
        pieces.append(Piece(f" {mark.text}", f"said {style_of(mark.device)}"))
        yield Row(None, tuple(pieces), columns)
