"""A place of the source in the report on a terminal: its lines, and labels under them.

  --> train.py:12:9
   |
12 |     y = x @ w
   |         -   ^
   |         |   cpu  float32[4,5]
   |         cuda:1  float32[3,4]
   |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from devsan.diagnostics.diagnostic import Label, Place
from devsan.render.language import Language
from devsan.render.terminal.colors import style_of_device
from devsan.render.terminal.paths import Paths
from devsan.render.terminal.text import Line, display_width, paragraph
from devsan.render.terminal.truncate import cut, dedented, without_tabs


def site_lines(
    site: Place, gutter: int, rank: str | None, say: Language, paths: Paths, width: int, room: int
) -> Iterator[Line]:  # fmt: skip
    """Yields the lines of ``site``.

    Args:
        site: what to show.
        gutter: columns of the line numbers.
        rank: of this process, to stand at the right edge; None for none.
        say: the language.
        paths: the files of the report.
        width: columns of the first line.
        room: columns of source lines, the gutter included.
    """
    place = paths.place(site) + (f"  {say.text(site.note)}" if site.note else "")
    head = " " * gutter + "--> "
    if rank is not None:
        text = say.text(rank) if rank.startswith("rank") else f"rank {rank}"  # of several: "ranks 1-3"
        place += " " * max(2, width - display_width(head + place) - display_width(text)) + text
    yield from paragraph(head, "frame", place, width)
    bar = " " * (gutter + 1) + "|"
    if site.lines:
        yield [(bar, "frame")]
    before = None
    for number, text, labels in _fitted(site, room - gutter - 3):
        if before is not None and number != before + 1:
            yield [(" " * (gutter - 1) + "...", "frame")]
        before = number
        yield [(f"{number:>{gutter}} | ", "frame"), (text, "")]
        for line in _label_lines(text, labels, say, room - gutter - 3):
            yield [(f"{bar} ", "frame"), *line]
    if site.lines:
        yield [(bar, "frame")]


def _fitted(site: Place, room: int) -> Iterator[tuple[int, str, list[Label]]]:
    """The source lines of ``site`` with their labels, in ``room`` columns: without indentation first, then cut."""
    lines = []
    for number, text in site.lines.items():
        labels = [label for label in site.labels if label.line == number]
        lines.append((number, *without_tabs(text, labels)))
    if any(display_width(text.rstrip()) > room for _, text, _ in lines):
        margin = min(len(text) - len(text.lstrip(" ")) for _, text, _ in lines if text.strip())
        lines = [(number, *dedented(text, labels, margin)) for number, text, labels in lines]
    for number, text, labels in lines:
        yield (number, *cut(text, labels, room))


def _label_lines(text: str, labels: Sequence[Label], say: Language, room: int) -> Iterator[Line]:
    """Yields the underlines of one source line, then the words, as many side by side as have room.

    Words that would end behind ``room`` begin further to the left than their label.
    """
    marks = sorted(labels, key=lambda label: label.start)
    if not marks:
        return
    placed = []
    for label in marks:
        start = display_width(text[: label.start])
        placed.append((start, max(1, display_width(text[label.start : label.end])), label))
    yield _spread([(start, ("^" if label.offending else "-") * width, _style(label)) for start, width, label in placed])
    waiting = [
        (start, [say.text(each) for each in label.texts], _style(label)) for start, _, label in placed if label.texts
    ]
    while waiting:
        row: list[tuple[int, str, str]] = []
        later = []
        limit = 1 << 30
        for start, texts, style in reversed(waiting):
            taken = display_width(texts[0])
            first = max(0, min(start, room - taken))
            if first + taken + 2 <= limit:
                row.append((first, texts[0], style))
                if texts[1:]:
                    later.append((start, texts[1:], style))
                limit = first
            else:
                row.append((start, "|", style))
                later.append((start, texts, style))
                limit = min(start, limit)
        yield _spread(row[::-1])
        waiting = later[::-1]


def _style(label: Label) -> str:
    return style_of_device(label.texts[0] if label.texts else "", label.offending)


def _spread(pieces: list[tuple[int, str, str]]) -> Line:
    """Puts pieces at their columns; one that begins inside its neighbor gives way to it."""
    line: Line = []
    column = 0
    for start, text, style in pieces:
        if start < column:
            continue
        line += [(" " * (start - column), ""), (text, style)]
        column = start + display_width(text)
    return line
