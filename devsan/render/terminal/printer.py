"""The report on a terminal.

    error[DV102]: operands of aten::mm are on cuda:1 and cpu
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

import sys
from collections.abc import Iterator
from typing import TextIO

from devsan.diagnostics.diagnostic import Diagnostic, Operand
from devsan.render.language import Language, language_for
from devsan.render.terminal.cause_lines import cause_lines
from devsan.render.terminal.colors import colored, style_of_device
from devsan.render.terminal.paths import Paths
from devsan.render.terminal.site_lines import site_lines
from devsan.render.terminal.stream import UNBROKEN, columns_of, wants_color
from devsan.render.terminal.text import DEEP, WIDTH, Line, display_width, padded, paragraph, wrapped
from devsan.render.terminal.truncate import shortened


def write(report: Diagnostic, stream: TextIO, language: Language | None = None) -> None:
    """Writes ``report`` to ``stream`` with an empty line before it, in color where that is wanted.

    Args:
        report: what to say.
        stream: where to write.
        language: in which to say it; by default the one that was chosen, if the stream has its characters.
    """
    write_lines(list(lines_of(report, language or language_for(stream), *columns_of(stream))), stream)


def write_further(report: Diagnostic, stream: TextIO) -> None:
    """Writes where ``report`` is and its title: a change that an earlier report has shown repairs it as well."""
    say, (width, _) = language_for(stream), columns_of(stream)
    site = report.sites[0]
    told = f"{report.code} {site.file}:{site.line}:{site.column}  {say.text(report.title)}"
    write_lines(list(paragraph(say("also fixed by this change: "), "help", told, width)), stream, above="")


def write_lines(lines: list[Line], stream: TextIO, above: str = "\n") -> None:
    """Writes ``lines`` to ``stream`` with ``above`` before them, an empty line, in color where that is wanted."""
    text = above + "".join(text_of(lines, stream))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def text_of(lines: list[Line], stream: TextIO) -> list[str]:
    """Returns each of ``lines`` as it is written to ``stream``, with its end."""
    if wants_color(stream):
        return [f"{colored(line)}\n" for line in lines]
    return ["".join(piece for piece, _ in line).rstrip() + "\n" for line in lines]


def lines_of(
    report: Diagnostic, language: Language | None = None, width: int = WIDTH, room: int = UNBROKEN
) -> Iterator[Line]:
    """Yields the lines of ``report``.

    Args:
        report: what to say.
        language: in which to say it; English by default. torch's sentence stays as it is.
        width: columns of prose.
        room: columns of source lines, of the title and of torch's sentence; `UNBROKEN` of a file: those two are whole.
    """
    say, paths = language or Language(), Paths(report)
    whole = sys.maxsize if room == UNBROKEN else room
    numbers = [number for site in report.sites for number in (site.line, *site.lines)]
    gutter = max((len(str(number)) for number in numbers), default=1) + 1
    code = f"[{report.code}]" if report.code else ""
    head = f"{say(report.severity)}{code}: "
    yield from paragraph(head, report.severity, say.text(report.title), whole, DEEP, "title")
    for place, site in enumerate(report.sites):
        yield from site_lines(site, gutter, report.rank if place == 0 else None, say, paths, width, room)
    indent = " " * (gutter + 1)
    if report.sentence:  # of a whole job there may be none
        yield from _sentence_lines(report, indent, whole)
    for note in report.notes:
        yield from paragraph(f"{indent}= ", "frame", paths.text(say.text(note)), width)
    if report.operands:
        yield []
        yield from _operand_lines(report.operands, say, paths, width)
    if report.code:
        yield from cause_lines(report, say, paths, width, room)


def _sentence_lines(report: Diagnostic, indent: str, width: int) -> Iterator[Line]:
    source = f"{report.source}:"
    first, *others = paragraph(f"{indent}= {source} ", "", report.sentence, width, len(indent) + 2)
    yield [(f"{indent}= ", "frame"), (source, "title"), (" ", ""), *first[1:]]
    yield from others


def _operand_lines(operands: tuple[Operand, ...], say: Language, paths: Paths, width: int) -> Iterator[Line]:
    names = [shortened(operand.name or say("an operand"), width // 3) for operand in operands]
    kinds = [operand.placement.kind if operand.placement is not None else "" for operand in operands]
    for operand, name, kind in zip(operands, names, kinds, strict=True):
        where = say("device not known")
        if operand.placement is not None:
            where = say("on {device}", device=operand.placement.device)
        called = ""
        if operand.qualified_name not in (None, operand.name):
            called = say("is {name}", name=paths.text(say.text(operand.qualified_name or "")))
        device = operand.placement.device if operand.placement is not None else ""
        style = style_of_device(device, operand.offending)
        head = f"  {padded(name, names)}  {padded(kind, kinds)}  {where}"
        if display_width(f"{head}  {called}") <= width or not called:
            yield [(f"{head}  {called}".rstrip(), style)]
        else:
            yield [(head, style)]
            yield from ([(f"{' ' * DEEP}{line}", style)] for line in wrapped(called, DEEP, width=width))
