"""The rows that a benchmark gives, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from measure import Result

HEAD = ("benchmark", "took", "beside", "took", "compared", "goal", "")


def in_units(seconds: float) -> str:
    """Writes a time with three digits: 1.23 us, 45.6 ms."""
    for unit, factor in (("us", 1e6), ("ms", 1e3)):
        if abs(seconds) * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def in_gib(size: float) -> str:
    """Writes bytes: 0.41 GiB."""
    return f"{size / 2**30:.2f} GiB"


@dataclass(frozen=True)
class Row:
    """One comparison. A goal is the most that a ratio, or a difference in seconds, may be.

    ``units`` writes what is no ratio: seconds, if nothing else is said.
    """

    name: str
    took: float
    beside: str = ""
    beside_took: float | None = None
    ratio: float | None = None
    difference: float | None = None
    goal: float | None = None
    units: Callable[[float], str] = in_units

    @property
    def missed(self) -> bool:
        """Whether there is a goal and it was not reached."""
        value = self.ratio if self.ratio is not None else self.difference
        return self.goal is not None and value is not None and value > self.goal

    def cells(self) -> tuple[str, ...]:
        compared = goal = ""
        if self.ratio is not None:
            compared = f"{self.ratio:.2f}x"
            goal = "" if self.goal is None else f"<= {self.goal:.2f}x"
        elif self.difference is not None:
            compared = f"{'+' if self.beside and self.difference >= 0 else ''}{self.units(self.difference)}"
            goal = "" if self.goal is None else f"<= {self.units(self.goal)}"
        beside_took = "" if self.beside_took is None else self.units(self.beside_took)
        return (
            self.name,
            self.units(self.took),
            self.beside,
            beside_took,
            compared,
            goal,
            "missed" if self.missed else "",
        )


def row(name: str, result: Result, goal: float | None = None) -> Row:
    """Makes a row of a result of `measure.in_turns`."""
    return Row(name, result.seconds, result.baseline, result.baseline_seconds, ratio=result.ratio, goal=goal)


def as_text(rows: Sequence[Row]) -> str:
    """Aligns the rows for a terminal."""
    lines = [HEAD, *(each.cells() for each in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def as_markdown(rows: Sequence[Row]) -> str:
    """Writes the rows as a Markdown table."""
    lines = [HEAD, tuple("---" for _ in HEAD), *(each.cells() for each in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def merged(page: str, rows: Sequence[Row], notes: Sequence[str]) -> str:
    """Returns a page with these rows in its table, in place of those of the same names, and with these notes."""
    kept = [line for line in page.rstrip().splitlines() if _name_in(line) not in {each.name for each in rows}]
    end = max(number for number, line in enumerate(kept) if line.startswith("| ")) + 1
    added = [f"| {' | '.join(each.cells())} |" for each in rows]
    told = [f"- {note}" for note in notes]
    return "\n".join([*kept[:end], *added, *(line for line in kept[end:] if line not in told), *told, ""])


def _name_in(line: str) -> str:
    found = re.match(r"\| (.*?) \| ", line)
    return found[1] if found else ""
