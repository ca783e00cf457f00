"""What came of a sweep, as plain data: what ``devsan sweep`` shows in each of its formats.

docs/reference/sweep.schema.json describes it. Sentences are ``Message``s.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["passed", "failed", "error", "stopped", "killed", "skipped", "not run"]

STATUSES: tuple[Status, ...] = ("passed", "failed", "error", "stopped", "killed", "skipped", "not run")

FAILURES: tuple[Status, ...] = ("failed", "error", "stopped", "killed")
"""What makes a sweep fail."""


@dataclass(frozen=True)
class CellResult:
    """What one cell came to.

    Attributes:
        key: of the cell.
        name: its values in one line.
        values: of the axes.
        status: "passed"; "failed" (a device failure); "error" (another one); "stopped" (at a limit of the sweep);
            "killed" (by a signal); "skipped" (the program says that it cannot tell, or the baseline does not pass);
            "not run".
        seconds: of wall time.
        exit_code: of the program; negative for a signal.
        reason: why it has not passed, one sentence.
        output: the end of what it wrote on stderr; "" where it has passed.
        group: the id of the failures that it belongs to; "" without one.
    """

    key: str
    name: str
    values: dict[str, str]
    status: Status
    seconds: float = 0.0
    exit_code: int = 0
    reason: str = ""
    output: str = ""
    group: str = ""


@dataclass(frozen=True)
class Check:
    """The fix of a group, tried on another of its cells. ``status`` is one of ``devsan.fix.result.STATUSES``."""

    cell: str
    status: str


@dataclass(frozen=True)
class GroupFix:
    """What ``devsan fix`` found for one cell of a group.

    Attributes:
        cell: the name of that cell.
        result: as docs/reference/fix.schema.json has it.
        checks: the best fix tried on further cells.
        patch_checks: the patch for the library's maintainers tried likewise.
    """

    cell: str
    result: dict[str, Any]
    checks: tuple[Check, ...] = ()
    patch_checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Group:
    """Failures of one cause: the same code, the same cause, the same place.

    Attributes:
        id: stable over runs.
        status: that of its cells.
        code: of the cause, "DV104"; "" where there is none.
        name: of the code.
        headline: what went wrong, one line.
        place: where: "transformers/models/bert/modeling_bert.py:120"; "" where that is not known.
        cells: the names of its cells.
        example: the name of the cell that ``finding`` is of.
        finding: the report of one cell, as docs/reference/run.schema.json has it; None where there is none.
        output: the end of what one cell wrote on stderr, where there is no finding.
        fix: what was found for it; None where nobody looked.
    """

    id: str
    status: Status
    code: str
    name: str
    headline: str
    place: str
    cells: tuple[str, ...]
    example: str
    finding: dict[str, Any] | None = None
    output: str = ""
    fix: GroupFix | None = None


@dataclass(frozen=True)
class SweepResult:
    """What came of it all.

    Attributes:
        file: of the sweep.
        command: what runs, with ``{axis}`` in it.
        directory: where.
        axes: their names with the values.
        cells: in the order of the matrix.
        groups: the largest first.
        seconds: of wall time, all cells together.
    """

    file: str
    command: tuple[str, ...]
    directory: str
    axes: dict[str, tuple[str, ...]]
    cells: tuple[CellResult, ...]
    groups: tuple[Group, ...]
    seconds: float = field(default=0.0, compare=False)

    @property
    def counts(self) -> dict[str, int]:
        """Returns the number of cells with each status that occurs."""
        found = Counter(cell.status for cell in self.cells)
        return {status: found[status] for status in STATUSES if found[status]}

    @property
    def failed(self) -> bool:
        """Returns whether a cell has failed."""
        return any(cell.status in FAILURES for cell in self.cells)
