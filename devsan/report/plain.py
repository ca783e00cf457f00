"""The report as plain text.

    error: operands of aten::mm are on cuda:1 and cpu
       --> train.py:12:9
        |
     12 |     y = x @ w
        |         -   ^
        |         |   cpu  float32[4,5]
        |         cuda:1  float32[3,4]
        |
        = torch: Expected all tensors to be on the same device, ...

Laying out (``lines_of``) is apart from writing; a line is a list of pieces, each with the name of its style. Columns
are counted as a terminal shows them: a Chinese character takes two.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TextIO

from devsan.report.cause_lines import cause_lines
from devsan.report.facts import Label, Operand, Report, Site
from devsan.report.text import TAB, WIDTH, Line, display_width, padded

_STYLES = {"error": "bold red", "odd": "bold red", "other": "bold blue", "frame": "bold blue", "title": "bold",
           "removed": "red", "added": "green", "help": "bold cyan", "": ""}  # fmt: skip


def write(report: Report, stream: TextIO) -> None:
    """Writes ``report`` to ``stream`` with an empty line before it, in colour where that is wanted."""
    lines = list(lines_of(report))
    if wants_colour(stream) and _write_coloured(lines, stream):
        return
    text = "\n" + "".join("".join(piece for piece, _ in line).rstrip() + "\n" for line in lines)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def wants_colour(stream: TextIO) -> bool:
    """Returns whether to use colour: on a terminal, unless NO_COLOR is set; FORCE_COLOR overrides both."""
    if os.environ.get("FORCE_COLOR"):
        return True
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    try:
        return stream.isatty()
    except Exception:  # a stream that is closed, or not quite a stream
        return False


def lines_of(report: Report) -> Iterator[Line]:
    """Yields the lines of ``report``."""
    numbers = [number for site in report.sites for number in (site.line, *site.lines)]
    gutter = max((len(str(number)) for number in numbers), default=1) + 1
    code = f"[{report.cause.code}]" if report.cause is not None else ""
    yield [(f"error{code}", "error"), (f": {report.title}", "title")]
    for place, site in enumerate(report.sites):
        yield from _site_lines(site, gutter, report.rank if place == 0 else None)
    indent = " " * (gutter + 1)
    yield [(f"{indent}= ", "frame"), ("torch", "title"), (f": {report.sentence}", "")]
    for note in report.notes:
        yield [(f"{indent}= ", "frame"), (note, "")]
    if report.operands:
        yield []
        yield from _operand_lines(report.operands)
    if report.cause is not None:
        yield from cause_lines(report.cause, report.sites)


def _site_lines(site: Site, gutter: int, rank: str | None) -> Iterator[Line]:
    column = "" if site.column is None else f":{site.column}"
    place = f"{site.file}:{site.line}{column}" + (f"  {site.note}" if site.note else "")
    head = " " * gutter + "--> "
    right = ""
    if rank is not None:
        text = f"rank {rank}"
        right = " " * max(2, WIDTH - display_width(head + place) - len(text)) + text
    yield [(head, "frame"), (place, ""), (right, "frame")]
    bar = " " * (gutter + 1) + "|"
    if site.lines:
        yield [(bar, "frame")]
    before = None
    for number, text in site.lines.items():
        if before is not None and number != before + 1:
            yield [(" " * (gutter - 1) + "...", "frame")]
        before = number
        yield [(f"{number:>{gutter}} | ", "frame"), (text.replace("\t", " " * TAB), "")]
        labels = [label for label in site.labels if label.line == number]
        for line in _label_lines(text, labels):
            yield [(f"{bar} ", "frame"), *line]
    if site.lines:
        yield [(bar, "frame")]


def _label_lines(text: str, labels: list[Label]) -> Iterator[Line]:
    """Yields the underlines of one source line, then the words, as many side by side as have room."""
    marks = sorted(labels, key=lambda label: label.start)
    if not marks:
        return
    placed = []
    for label in marks:
        start = display_width(text[: label.start])
        placed.append((start, max(1, display_width(text[label.start : label.end])), label))
    yield _spread([(start, ("^" if label.odd else "-") * width, _style(label)) for start, width, label in placed])
    waiting = [(start, list(label.texts), _style(label)) for start, _, label in placed if label.texts]
    while waiting:
        row: list[tuple[int, str, str]] = []
        later = []
        limit = 1 << 30
        for start, texts, style in reversed(waiting):
            if start + display_width(texts[0]) + 2 <= limit:
                row.append((start, texts[0], style))
                if texts[1:]:
                    later.append((start, texts[1:], style))
            else:
                row.append((start, "|", style))
                later.append((start, texts, style))
            limit = start
        yield _spread(row[::-1])
        waiting = later[::-1]


def _style(label: Label) -> str:
    return "odd" if label.odd else "other"


def _spread(pieces: list[tuple[int, str, str]]) -> Line:
    """Puts pieces at their columns; one that begins inside its neighbour gives way to it."""
    line: Line = []
    column = 0
    for start, text, style in pieces:
        if start < column:
            continue
        line += [(" " * (start - column), ""), (text, style)]
        column = start + display_width(text)
    return line


def _operand_lines(operands: tuple[Operand, ...]) -> Iterator[Line]:
    names = [operand.name or "an operand" for operand in operands]
    kinds = [operand.placement.kind if operand.placement is not None else "" for operand in operands]
    for operand, name, kind in zip(operands, names, kinds, strict=True):
        device = f"on {operand.placement.device}" if operand.placement is not None else "device not known"
        called = f"  is {operand.known_as}" if operand.known_as not in (None, name) else ""
        text = f"  {padded(name, names)}  {padded(kind, kinds)}  {device}{called}"
        yield [(text, "odd" if operand.odd else "other")]


def _write_coloured(lines: list[Line], stream: TextIO) -> bool:
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:  # the program runs with a path of its own
        return False
    console = Console(file=stream, force_terminal=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    console.print()
    for line in lines:
        console.print(Text.assemble(*((piece, _STYLES[style]) for piece, style in line)), soft_wrap=True)
    stream.flush()
    return True
