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

import os
from collections.abc import Iterator
from typing import TextIO

from devsan.diagnostics.diagnostic import Diagnostic, Operand
from devsan.render.language import Language, language_for
from devsan.render.terminal.cause_lines import cause_lines
from devsan.render.terminal.site_lines import site_lines
from devsan.render.terminal.text import WIDTH, Line, padded, wrapped

# SGR parameters: 1 is bold, 31 red, 32 green, 33 yellow, 34 blue, 36 cyan
_STYLES = {"error": "1;31", "warning": "1;33", "offending": "1;31", "other": "1;34", "frame": "1;34", "title": "1",
           "removed": "31", "added": "32",
           "removed part": "1;4;31", "added part": "1;4;32", "help": "1;36", "note": "1;32", "": ""}  # fmt: skip

_NARROWEST, _WIDEST = 60, 100
_UNBROKEN = 120  # a file or a CI log does not break lines: source is cut later there


def write(report: Diagnostic, stream: TextIO, language: Language | None = None) -> None:
    """Writes ``report`` to ``stream`` with an empty line before it, in color where that is wanted.

    Args:
        report: what to say.
        stream: where to write.
        language: in which to say it; by default the one that was chosen, if the stream has its characters.
    """
    write_lines(list(lines_of(report, language or language_for(stream), *columns_of(stream))), stream)


def columns_of(stream: TextIO) -> tuple[int, int]:
    """Returns the columns that prose and source lines have on ``stream``."""
    columns = _columns(stream)
    width = WIDTH if columns is None else min(max(columns, _NARROWEST), _WIDEST)
    return width, columns or _UNBROKEN


def write_lines(lines: list[Line], stream: TextIO) -> None:
    """Writes ``lines`` to ``stream`` with an empty line before them, in color where that is wanted."""
    text = "\n" + "".join(text_of(lines, stream))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def text_of(lines: list[Line], stream: TextIO) -> list[str]:
    """Returns each of ``lines`` as it is written to ``stream``, with its end."""
    if wants_color(stream):
        return [_colored(line) for line in lines]
    return ["".join(piece for piece, _ in line).rstrip() + "\n" for line in lines]


def wants_color(stream: TextIO) -> bool:
    """Returns whether to use color: on a terminal, unless NO_COLOR is set; FORCE_COLOR, but for 0, overrides both."""
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return _is_terminal(stream)


def lines_of(
    report: Diagnostic, language: Language | None = None, width: int = WIDTH, room: int = _UNBROKEN
) -> Iterator[Line]:
    """Yields the lines of ``report``.

    Args:
        report: what to say.
        language: in which to say it; English by default. torch's sentence stays as it is.
        width: columns of prose.
        room: columns of source lines.
    """
    say = language or Language()
    numbers = [number for site in report.sites for number in (site.line, *site.lines)]
    gutter = max((len(str(number)) for number in numbers), default=1) + 1
    code = f"[{report.code}]" if report.code else ""
    yield [(f"{say(report.severity)}{code}", report.severity), (f": {say.text(report.title)}", "title")]
    for place, site in enumerate(report.sites):
        yield from site_lines(site, gutter, report.rank if place == 0 else None, say, width, room)
    indent = " " * (gutter + 1)
    if report.sentence:  # of a whole job there may be none
        yield [(f"{indent}= ", "frame"), (report.source, "title"), (f": {report.sentence}", "")]
    for note in report.notes:
        for number, line in enumerate(wrapped(say.text(note), gutter + 3, width=width)):
            yield [(f"{indent}{'  ' if number else '= '}", "frame"), (line, "")]
    if report.operands:
        yield []
        yield from _operand_lines(report.operands, say)
    if report.code:
        yield from cause_lines(report, say, width)


def _operand_lines(operands: tuple[Operand, ...], say: Language) -> Iterator[Line]:
    names = [operand.name or say("an operand") for operand in operands]
    kinds = [operand.placement.kind if operand.placement is not None else "" for operand in operands]
    for operand, name, kind in zip(operands, names, kinds, strict=True):
        where = say("device not known")
        if operand.placement is not None:
            where = say("on {device}", device=operand.placement.device)
        called = ""
        if operand.qualified_name not in (None, name):
            called = "  " + say("is {name}", name=say.text(operand.qualified_name or ""))
        text = f"  {padded(name, names)}  {padded(kind, kinds)}  {where}{called}"
        yield [(text, "offending" if operand.offending else "other")]


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except Exception:  # a stream that is closed, or not quite a stream
        return False


def _columns(stream: TextIO) -> int | None:
    """Returns the columns of the terminal behind ``stream``, None where there is none."""
    if not _is_terminal(stream):
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):  # it only says that it is one
        return WIDTH


def _colored(line: Line) -> str:
    """By hand: to import rich takes a fifth of the time that the report's first line may take."""
    pieces = [(f"\x1b[{_STYLES[style]}m{piece}\x1b[0m" if _STYLES[style] and piece else piece) for piece, style in line]
    return "".join(pieces) + "\n"
