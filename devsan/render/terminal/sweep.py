"""What a sweep came to, for a terminal: a table of the cells, and the groups of failures with a report of the largest.

sweep.toml: 6 cells: 4 passed, 2 failed

               gpus=2  gpus=4
map=auto       passed  failed
map=balanced   passed  failed

1. DV104 reduction-boundary: operands of aten::add are on cuda:1 and cuda:0
   --> train.py:12
   2 cells: gpus=4 map=auto, gpus=4 map=balanced
   fixed: create `noise` on the device of `hidden`
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from devsan.diagnostics.codec import diagnostic_of
from devsan.render.cell_names import together
from devsan.render.fixes import best_of, said_of
from devsan.render.language import Language, language_for
from devsan.render.terminal.diff_lines import diff_lines
from devsan.render.terminal.printer import lines_of, write_lines
from devsan.render.terminal.stream import columns_of
from devsan.render.terminal.text import Line, display_width, padded, paragraph

if TYPE_CHECKING:
    from devsan.sweep.result import CellResult, Group, SweepResult

_FAILURES = ("failed", "error", "stopped", "killed")

_ROWS = 40  # of the table
_GROUPS = 20
_REPORTS = 3
_NAMES = 3  # of the cells of a group
_OUTPUT = 6  # lines of stderr
_VALUE = 40  # columns of a value
_VALUES = 12  # of an axis whose sums are shown
_STYLES = {"passed": "good", "failed": "error", "error": "error", "stopped": "warning", "killed": "warning",
           "skipped": "frame", "not run": "frame"}  # fmt: skip


def write(result: SweepResult, stream: TextIO, language: str = "") -> None:
    """Writes ``result`` to ``stream``.

    Args:
        result: what came of a sweep.
        stream: where to write.
        language: "en" or "zh"; by default the chosen one.
    """
    say = language_for(stream, language)
    write_lines(list(sweep_lines(result, say, *columns_of(stream))), stream)


def sweep_lines(result: SweepResult, say: Language, width: int, room: int) -> Iterator[Line]:
    """Yields the lines of ``result``. ``width`` is that of prose, ``room`` that of source."""
    counts = ", ".join(f"{count} {say(status)}" for status, count in result.counts.items())
    told = say("{count} cells: {counts}", count=str(len(result.cells)), counts=counts)
    yield [(f"{os.path.basename(result.file)}: ", "title"), (told, "")]
    yield []
    yield from _table(result, say, width)
    for number, group in enumerate(result.groups[:_GROUPS], start=1):
        yield []
        yield from _group(number, group, say, width, room)
        if number <= _REPORTS:
            yield from _report(group, say, width, room)
    if len(result.groups) > _GROUPS:
        more = say("and {count} more groups: --format html shows them", count=str(len(result.groups) - _GROUPS))
        yield []
        yield [(more, "")]


def _table(result: SweepResult, say: Language, width: int) -> Iterator[Line]:
    """The axis with the most values down, the others across; where that is too much, sums and the rows that fail."""
    axes = {name: list(dict.fromkeys(cell.values[name] for cell in result.cells)) for name in result.axes}
    down = max(axes, key=lambda name: len(axes[name]))
    across = [name for name in axes if name != down and len(axes[name]) > 1]
    columns: dict[str, None] = {}
    rows: dict[str, dict[str, CellResult]] = {value: {} for value in axes[down]}
    for cell in result.cells:
        column = " ".join(f"{name}={_cut(cell.values[name])}" for name in across)
        columns[column] = None
        rows[cell.values[down]][column] = cell
    every = len(rows)
    if every > _ROWS:
        yield from _sums(result, {name: values for name, values in axes.items() if 1 < len(values) <= _VALUES}, say)
        rows = {value: row for value, row in rows.items() if any(cell.status in _FAILURES for cell in row.values())}
        if not rows:
            return
        yield []
    left, rows = len(rows) - _ROWS, dict(list(rows.items())[:_ROWS])
    heads = [f"{down}={_cut(value)}" for value in rows]
    wide = max(map(display_width, heads)) + sum(max(display_width(column), 8) + 2 for column in columns)
    if wide > width:
        if every <= _ROWS:
            yield from _sums(result, {name: values for name, values in axes.items() if 1 < len(values) <= _VALUES}, say)
        return
    if across:
        yield [(" " * max(map(display_width, heads)), "")] + [(f"  {column:<8}", "title") for column in columns]
    for head, cells in zip(heads, rows.values(), strict=True):
        line: Line = [(padded(head, heads), "")]
        for column in columns:
            status = cells[column].status if column in cells else None
            word = say(status) if status is not None else "-"
            space = " " * max(0, max(display_width(column), 8) - display_width(word))
            line += [(f"  {word}", _STYLES[status] if status is not None else "frame"), (space, "")]
        yield line
    if left > 0:
        yield [(say("and {count} more that fail: --format html shows them", count=str(left)), "")]


def _sums(result: SweepResult, axes: dict[str, list[str]], say: Language) -> Iterator[Line]:
    statuses = list(result.counts)
    heads = [f"{name}={_cut(value)}" for name, values in axes.items() for value in values]
    if not heads:
        return
    words = [say(status) for status in statuses]
    yield [(" " * max(map(display_width, heads)), "")] + [(f"  {word}", "title") for word in words]
    for name, values in axes.items():
        for value in values:
            found: Counter[str] = Counter(cell.status for cell in result.cells if cell.values[name] == value)
            line: Line = [(padded(f"{name}={_cut(value)}", heads), "")]
            for status, word in zip(statuses, words, strict=True):
                line.append(
                    (f"  {found[status]:>{display_width(word)}}", _STYLES[status] if found[status] else "frame")
                )
            yield line


def _group(number: int, group: Group, say: Language, width: int, room: int) -> Iterator[Line]:
    indent = " " * (len(str(number)) + 2)
    code = f"{group.code} {group.name}".strip()
    head = f"{number}. {code}: " if code else f"{number}. {say(group.status)}: "
    yield from paragraph(head, _STYLES[group.status], say.text(group.headline), width, len(indent))
    if group.place:
        yield from paragraph(f"{indent}--> ", "frame", group.place, room)
    named = together(group.cells)
    names = "; ".join(name for name, _ in named[:_NAMES])
    left = sum(count for _, count in named[_NAMES:])
    told = say("{count} cells: {names}", count=str(len(group.cells)), names=names)
    if len(group.cells) == 1:
        told = say("1 cell: {names}", names=names)
    elif left:
        told += say(", and {count} more", count=str(left))
    yield from paragraph(indent, "", told, width, len(indent))
    best = best_of(group.fix) if group.fix is not None else None
    for at, (head, text) in enumerate(said_of(group.fix, say) if group.fix is not None else ()):
        yield from paragraph(f"{indent}{head}: ", "help", text, width, len(indent) + 2)
        for line in diff_lines(best["diff"], room - len(indent)) if best is not None and at == 0 else ():
            yield [(indent, ""), *line]


def _report(group: Group, say: Language, width: int, room: int) -> Iterator[Line]:
    """The report of one cell, or the end of what it wrote."""
    yield []
    if group.finding is not None:
        yield [(say("report of {cell}:", cell=group.example), "title")]
        yield from lines_of(diagnostic_of(group.finding), say, width, room)
    elif group.output:
        yield [(say("end of the output of {cell}:", cell=group.example), "title")]
        for text in group.output.splitlines()[-_OUTPUT:]:
            yield [(f"  {text[:room]}", "")]


def _cut(value: str) -> str:
    return value if len(value) <= _VALUE else f"{value[: _VALUE - 3]}..."
