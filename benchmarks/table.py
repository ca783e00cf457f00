"""The rows that a benchmark gives, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from measure import Result

HEAD = ("benchmark", "took", "beside", "took", "compared", "goal", "")


def in_units(seconds: float) -> str:
    """Writes a time with three digits: 1.23 us, 45.6 ms."""
    for unit, factor in (("us", 1e6), ("ms", 1e3)):
        if abs(seconds) * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


@dataclass(frozen=True)
class Row:
    """One comparison. A goal is the most that a ratio, or a difference in seconds, may be."""

    name: str
    took: float
    beside: str = ""
    beside_took: float | None = None
    ratio: float | None = None
    difference: float | None = None
    goal: float | None = None

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
            compared = f"{'+' if self.beside and self.difference >= 0 else ''}{in_units(self.difference)}"
            goal = "" if self.goal is None else f"<= {in_units(self.goal)}"
        beside_took = "" if self.beside_took is None else in_units(self.beside_took)
        return (
            self.name,
            in_units(self.took),
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
