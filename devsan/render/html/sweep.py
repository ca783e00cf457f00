"""A sweep as one page: the table of the cells, and each group of failures with the report of one cell."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from devsan.render.cell_names import together
from devsan.render.fixes import best_of, said_of
from devsan.render.html import environment
from devsan.render.html.labels import LANGUAGES
from devsan.render.language import asked, language_named
from devsan.render.unified_diff import Replaced, replaced

if TYPE_CHECKING:
    from devsan.sweep.result import CellResult, Group, SweepResult

_FOLDER = Path(__file__).parent
_STYLES = ("colors.css", "page.css", "finding.css", "overview.css", "sweep.css", "media.css")  # in this order
_REPORTS = 60  # that are shown whole: more make the page slow


@dataclass(frozen=True)
class Row:
    """A row of the table: a value of the axis that goes down, and the cells of the others."""

    head: str
    cells: tuple[CellResult | None, ...]


@dataclass(frozen=True)
class Found:
    """What was found for a group: sentences, each with its language and its head; and of the fix that is shown the
    changed lines and its own sentences."""

    told: tuple[tuple[str, str, str], ...]
    diff: tuple[Replaced, ...]
    texts: tuple[str, ...]


def render(result: SweepResult, language: str = "") -> str:
    """Returns the page of a sweep, which opens in ``language`` as that of a run does."""
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    style = "".join((_FOLDER / name).read_text(encoding="utf-8") for name in _STYLES)
    down, columns, rows = table_of(result)
    page = environment().get_template("sweep.html").render(
        result=result, down=down, columns=columns, rows=rows,
        groups=[(group, found_of(group)) for group in result.groups],
        numbers={group.id: number for number, group in enumerate(result.groups, start=1)}, many=False, reports=_REPORTS,
        together=lambda names: [name for name, _ in together(names)],
        language=language or asked(), script=Markup(script), style=Markup(style),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )  # fmt: skip
    return page.encode("utf-8", "replace").decode("utf-8")


def table_of(result: SweepResult) -> tuple[str, list[str], list[Row]]:
    """Returns the axis that goes down, the one with the most values, the heads of the columns, and the rows."""
    values = {name: {cell.values[name] for cell in result.cells} for name in result.axes}
    down = max(values, key=lambda name: len(values[name]))
    columns: dict[str, None] = {}
    rows: dict[str, dict[str, CellResult]] = {}
    for cell in result.cells:
        others = [f"{name}={value}" for name, value in cell.values.items() if name != down and len(values[name]) > 1]
        column = " ".join(others)
        columns[column] = None
        rows.setdefault(cell.values[down], {})[column] = cell
    return down, list(columns), [Row(head, tuple(map(row.get, columns))) for head, row in rows.items()]


def found_of(group: Group) -> Found | None:
    """Returns what was found for a group; None where nobody looked."""
    if group.fix is None:
        return None
    told = [(name, head, text) for name in LANGUAGES for head, text in said_of(group.fix, language_named(name))]
    best = best_of(group.fix)
    if best is None:
        return Found(tuple(told), (), ())
    return Found(tuple(told), tuple(replaced(best["diff"])), tuple(best["texts"]))
