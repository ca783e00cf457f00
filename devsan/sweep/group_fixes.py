"""Looks for a fix of groups of device failures: for one cell of each, then tried on further ones."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence

from devsan.errors import DevsanError, tell
from devsan.fix.account import result_of
from devsan.fix.change import Change
from devsan.fix.reference_run import find_reference
from devsan.fix.search import Search, search
from devsan.fix.trial import try_changes
from devsan.render.json import fix_document
from devsan.sweep.cell import Cell
from devsan.sweep.cell_run import CellRunner
from devsan.sweep.result import Check, Group, GroupFix
from devsan.sweep.state import State

MOST_CHECKS = 3
"""Further cells on which a fix is tried: two runs each."""

_SEED = 0  # the same groups are drawn when a sweep goes on

Told = Callable[[str], None]


def drawn(groups: Sequence[Group], count: int) -> list[Group]:
    """Returns the groups for which a fix is looked for: of all device failures, or of ``count`` drawn at random."""
    found = sorted((group for group in groups if group.status == "failed"), key=lambda group: group.id)
    return random.Random(_SEED).sample(found, count) if 0 < count < len(found) else found


def find_fixes(
    groups: Sequence[Group], cells: Mapping[str, Cell], runner: CellRunner, state: State,
    told: Callable[[int, int], Told],
) -> None:  # fmt: skip
    """Looks for a fix of each of ``groups``, and keeps it; what is known is not looked for again.

    Args:
        groups: of device failures.
        cells: by their names.
        runner: says where and how cells run.
        state: keeps what is found.
        told: called with the number of a group, from 1, and how many there are; what it returns, with what is tried.
    """
    for number, group in enumerate(groups, start=1):
        if group.id in state.fixes:
            continue
        members = [cells[name] for name in group.cells]
        try:
            state.add_fix(group.id, _fix_of(members, runner, told(number, len(groups))))
        except DevsanError as error:  # the process that experiments are forks of has ended
            tell(f"no fix of {group.place or group.id}: {error}")


def _fix_of(members: Sequence[Cell], runner: CellRunner, told: Told) -> GroupFix:
    first, *others = members
    start = time.monotonic()
    with runner.laboratory(first) as laboratory:
        found = search(laboratory, told)
    found.seconds = time.monotonic() - start
    result = result_of(found, [*_options_of(first), *first.words], runner.folder)
    step = max(1, len(others) // MOST_CHECKS)
    checked = others[::step][:MOST_CHECKS]
    best = _changes_of(found, result.best.texts) if result.best is not None else ()
    patch = found.patch.changes if found.patch is not None and result.patch is not None else ()
    checks, patch_checks = _checks((best, patch if patch != best else ()), checked, runner, told)
    return GroupFix(first.name, fix_document(result), checks, patch_checks)


def _changes_of(found: Search, texts: Sequence[str]) -> tuple[Change, ...]:
    trials = [trial for trial in found.verified if tuple(change.text for change in trial.changes) == tuple(texts)]
    return trials[0].changes if trials else ()


def _checks(
    tried: Sequence[Sequence[Change]], cells: Sequence[Cell], runner: CellRunner, told: Told
) -> tuple[tuple[Check, ...], ...]:
    """Tries each of ``tried`` on each of ``cells``; nothing where there is nothing to try."""
    found: tuple[list[Check], ...] = tuple([] for _ in tried)
    for cell in cells if any(tried) else ():
        with runner.laboratory(cell) as laboratory:
            reference = find_reference(laboratory, told)
            for changes, checks in zip(tried, found, strict=True):
                if changes:
                    told("; ".join(change.text for change in changes))
                    trial = try_changes(laboratory, reference, tuple(changes))
                    checks.append(Check(cell.name, trial.status))
    return tuple(tuple(checks) for checks in found)


def _options_of(cell: Cell) -> list[str]:
    """The options as a command line of ``devsan fix`` has them, for what is said to be repeated."""
    items = [item.partition("=") for item in cell.options.to_variable().split(":")]
    return [f"--{name}={value}" for name, _, value in items if name != "policy"]
