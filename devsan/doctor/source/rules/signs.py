"""What several rules ask of a program: whether it runs in ranks, and what a place is called."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeVar

from devsan.doctor.findings import Edit, Place
from devsan.doctor.source.events import Event, HidesGpus, Meeting, Ranks
from devsan.doctor.source.places import Where
from devsan.doctor.source.program import Program
from devsan.doctor.source.values import Tensor

Some = TypeVar("Some", bound=Event)


def runs_in_ranks(program: Program) -> ast.AST | None:
    """Returns the call that says that the program is started once for each GPU; None where nothing says so.

    A launch of one process is believed over the source. Who gives each rank its own GPUs to see has chosen by that.
    """
    if program.launched == 1 or any(
        isinstance(event, HidesGpus) and event.used is None and not event.visible.shared for event in program.events
    ):
        return None
    for sign in ("group", "wrapper", "rank"):
        for event in program.events:
            if isinstance(event, Ranks) and event.sign == sign:
                return event.node
    return program.source.tree if program.launched > 1 else None


def how_ranks_are_known(program: Program, sign: ast.AST) -> str:
    """Returns the sentence about the sign that ``runs_in_ranks`` gave."""
    if isinstance(sign, ast.Module):
        return f"the launch command starts {program.launched} ranks"
    line = getattr(sign, "lineno", 0)
    return f"the program runs in ranks: `{program.source.shown(sign)}`, line {line}"


def in_words(where: Where) -> str:
    """Returns where something is: "on the CPU", "on cuda:1", "on `args.device`"."""
    if where.kind == "inputs":
        return "where the module's inputs are"
    if where.kind == "part":
        return "where the device map put it"
    return f"on `{where.text}`" if where.kind == "value" else f"on {where}"


def came(program: Program, tensor: Tensor) -> str:
    """Returns the sentence that says what put a tensor where it is; "" where that is not known."""
    line = getattr(tensor.made, "lineno", 0)
    if not line or tensor.made is None:
        return ""
    verb = "moves" if tensor.how == "moved" else "creates"
    return f"`{program.source.shown(tensor.made)}`, line {line}, {verb} it {in_words(tensor.where)}"


def meetings_of(program: Program, cause: str) -> list[Meeting]:
    """Returns the operations whose tensors are apart for that cause."""
    return [event for event in program.events if isinstance(event, Meeting) and event.cause == cause]


def how_they_meet(program: Program, meeting: Meeting) -> tuple[str, ...]:
    """Returns the sentences that say which operation joins two tensors, and what put each where it is."""
    joins = f"`{program.source.shown(meeting.node)}`, line {getattr(meeting.node, 'lineno', 0)}, joins the two"
    return tuple(each for each in (
        joins, came(program, meeting.odd.tensor), came(program, meeting.other.tensor)
    ) if each)  # fmt: skip


def places_of(program: Program, events: Iterable[Event]) -> tuple[Place, ...]:
    """Returns where events happen, each place once."""
    return tuple(dict.fromkeys(program.source.place(event.node) for event in events))


def some(edit: Edit | None) -> tuple[Edit, ...]:
    """Returns an edit as a finding has it."""
    return () if edit is None else (edit,)


def first_of_each(events: Iterable[tuple[ast.AST, Some]]) -> Iterator[tuple[Some, list[Some]]]:
    """Yields, for each key, the first event and all of them."""
    found: dict[ast.AST, list[Some]] = {}
    for key, event in events:
        found.setdefault(key, []).append(event)
    for group in found.values():
        yield group[0], group
