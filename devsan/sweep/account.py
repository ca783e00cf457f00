"""From the cells of a sweep and their state to its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from devsan.sweep.cell import Cell
from devsan.sweep.definition import Definition
from devsan.sweep.result import CellResult, Group, SweepResult
from devsan.sweep.state import State


def result_of(
    definition: Definition, axes: Mapping[str, tuple[str, ...]], cells: Sequence[Cell], state: State
) -> SweepResult:
    """Returns what is known of ``cells``, those that have not run among them.

    Args:
        definition: of the sweep.
        axes: of its matrix.
        cells: of it.
        state: what they came to.
    """
    found = tuple(_result(cell, state) for cell in cells)
    return SweepResult(
        str(definition.path), definition.command, str(definition.folder), dict(axes), found, groups_of(found, state),
        round(sum(cell.seconds for cell in found), 1),
    )  # fmt: skip


def groups_of(cells: Sequence[CellResult], state: State) -> tuple[Group, ...]:
    """Returns the groups that ``cells`` belong to, the largest first."""
    members: dict[str, list[str]] = {}
    for cell in cells:
        if cell.group:
            members.setdefault(cell.group, []).append(cell.name)
    groups = [
        replace(state.groups[id], cells=tuple(names), fix=state.fixes.get(id))
        for id, names in members.items() if id in state.groups
    ]  # fmt: skip
    return tuple(sorted(groups, key=lambda group: -len(group.cells)))


def _result(cell: Cell, state: State) -> CellResult:
    known = state.cells.get(cell.key)
    if known is None:
        return CellResult(cell.key, cell.name, dict(cell.values), "not run")
    return replace(known, name=cell.name, values=dict(cell.values))
