"""A finding as the page shows it: the operation, and for each operand who placed it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.diagnostics.messages import Message, message
from devsan.diagnostics.placement import owner_text, placed_text
from devsan.render.html.excerpt import Mark, Row, rows_of
from devsan.render.terminal.text import display_width

MOST_OPERANDS = 6
"""Operands whose story is told; the others of a long list stand in a table."""

HALF = 68
"""Columns of source that fit into half of a page 1280 pixels wide."""

_DEVICE = re.compile(r"(?<![\w:])(?:cpu|meta|disk|[a-z]+:\d+)(?![\w:])")


@dataclass(frozen=True)
class Place:
    """A place in the source with its excerpt."""

    file: str
    line: int
    column: int | None
    note: str
    rows: tuple[Row, ...]


def places_of(finding: Mapping[str, Any]) -> list[Place]:
    """Returns the failing operation's place first, then who called it."""
    return [
        Place(
            str(site["file"]), int(site["line"]), site["column"], site["note"],
            tuple(rows_of({line["line"]: line["text"] for line in site["lines"]}, _marks(site, finding["operands"]))),
        )
        for site in finding["sites"]
    ]  # fmt: skip


def is_wide(places: Iterable[Place]) -> bool:
    """Returns whether an excerpt is too wide for half of the page."""
    rows = (row for place in places for row in place.rows)
    return any(display_width("".join(piece.text for piece in row.pieces)) > HALF for row in rows)


def inner_frame(finding: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns the library's frame that refused, where the failing line shown is not it already."""
    stack, sites = finding["stack"], finding["sites"]
    if not stack or not stack[0]["package"]:
        return None
    frame: Mapping[str, Any] = stack[0]
    return None if any((frame["path"], frame["line"]) == (site["path"], site["line"]) for site in sites) else frame


def told_operands(finding: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Returns the operands whose story is told, the one to change first, and the others."""
    operands = finding["operands"]
    involved = [number for number in dict.fromkeys(finding["involved"]) if 0 <= number < len(operands)]
    if not involved:
        involved = sorted(range(len(operands)), key=lambda number: not operands[number]["offending"])
    told = involved[:MOST_OPERANDS]
    return [operands[number] for number in told], [each for at, each in enumerate(operands) if at not in told]


def best_name(operand: Mapping[str, Any]) -> str:
    """Returns what an operand is called: in the source, in the model, by what made it, or by torch."""
    made_by = operand.get("output_of")  # not in the documents of older releases
    made = message("the output of {module}", module=made_by) if made_by else ""
    name: str = operand["name"] or operand["qualified_name"] or made or operand["role"]
    return name


def placement_of(provenance: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Returns the newest event that decided the device, as model::placement_of does; None where none did."""
    return next((event for event in provenance if event["kind"] not in ("computed", "shared")), None)


def words_of(operand: Mapping[str, Any], placed: Mapping[str, Any]) -> Message:
    """Returns who placed an operand, by the event that decided its device, in the words of the terminal's report."""
    owner, newest = placed["owner"], operand["provenance"][0]
    followed = newest["followed"] if newest is not placed and newest["followed"] != best_name(operand) else ""
    return placed_text(placed["device"], owner_text(owner["name"], owner["mechanism"], operand["holder"]), followed)


def source_rows(frame: Mapping[str, Any], most: int = 6) -> list[Row]:
    """Returns the first ``most`` rows of a frame's source, which is without the first line's indentation."""
    lines = str(frame["source"]).splitlines()
    return rows_of({int(frame["line"]) + at: text for at, text in enumerate(lines[:most])})


def _marks(site: Mapping[str, Any], operands: Iterable[Mapping[str, Any]]) -> list[Mark]:
    """The labels of a place; a label's device is that of the operand there, or the one that its words name."""
    devices = {(operand["line"], operand["column"]): str(operand["device"]) for operand in operands}
    marks = []
    for label in site["labels"]:
        said = _DEVICE.search("; ".join(label["texts"]))
        device = devices.get((label["line"], label["column"])) or (said[0] if said is not None else "")
        start, end = int(label["column"]) - 1, int(label["end_column"]) - 1
        marks.append(Mark(int(label["line"]), start, end, tuple(label["texts"]), bool(label["offending"]), device))
    return marks
