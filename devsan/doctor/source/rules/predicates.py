"""What several rules ask of a program: whether it runs in ranks, and what a place is called."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from devsan.diagnostics.diagnostic import Diagnostic, Edit, Place
from devsan.diagnostics.messages import Message, message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Cause, Event, HidesGpus, Meeting, Ranks
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


def how_ranks_are_known(program: Program, sign: ast.AST) -> Message:
    """Returns the sentence about the sign that ``runs_in_ranks`` gave."""
    if isinstance(sign, ast.Module):
        return message("the launch command starts {count} ranks", count=program.launched)
    call, line = program.source.shown(sign), line_of(sign)
    return message("the program runs as several ranks: `{call}`, line {line}", call=call, line=line)


def line_of(node: ast.AST | None) -> int:
    """Returns the line of a node; 0 where it has none."""
    return getattr(node, "lineno", 0)


def in_words(where: Where) -> Message:
    """Returns where something is: "on the CPU", "on cuda:1", "on `args.device`"."""
    return _on_and_to(where)[0]


def way_to(where: Where) -> Message:
    """Returns where something goes: "to the CPU", "to cuda:1", "to `args.device`"."""
    return _on_and_to(where)[1]


def _on_and_to(where: Where) -> tuple[Message, Message]:
    if where.kind == "inputs":
        return message("on the device of the module's inputs"), message("to the device of the module's inputs")
    if where.kind == "part":
        return (message("on the device that the device map assigns to it"),
                message("to the device that the device map assigns to it"))  # fmt: skip
    if where.kind == "host":
        return message("on the CPU"), message("to the CPU")
    if where.kind == "value":
        return message("on `{device}`", device=where.text), message("to `{device}`", device=where.text)
    return message("on {device}", device=where), message("to {device}", device=where)


def came(program: Program, tensor: Tensor) -> Message | None:
    """Returns the sentence that says what put a tensor where it is; None where that is not known."""
    line = line_of(tensor.made)
    if not line or tensor.made is None:
        return None
    call = program.source.shown(tensor.made)
    if tensor.how == "moved":
        return message("`{call}`, line {line}, moves it {where}", call=call, line=line, where=way_to(tensor.where))
    return message("`{call}`, line {line}, creates it {where}", call=call, line=line, where=in_words(tensor.where))


def meetings_by_tensor(program: Program, cause: Cause) -> Iterator[list[Meeting]]:
    """Yields the operations whose tensors are apart for that cause: those of one tensor together."""
    for _, group in first_of_each((event.offending.tensor.made or event.node, event) for event in _of(program, cause)):
        yield group


def meetings_by_operation(program: Program, cause: Cause) -> Iterator[list[Meeting]]:
    """Yields the operations whose tensors are apart for that cause: the same place, reached on several ways, once."""
    for _, group in first_of_each((event.node, event) for event in _of(program, cause)):
        yield group


def _of(program: Program, cause: Cause) -> list[Meeting]:
    return [event for event in program.events if isinstance(event, Meeting) and event.cause == cause]


def cannot_be_joined(
    code: str, title: Message, program: Program, group: Sequence[Meeting], fix: Message, at: ast.AST | None = None,
    evidence: tuple[Message, ...] | None = None,
) -> Diagnostic:  # fmt: skip
    """Returns the finding about tensors that operations cannot join.

    Args:
        code: of the cause.
        title: says which tensors, and where they are.
        program: what was followed.
        group: the operations, all for one reason.
        fix: what to do.
        at: the place to show; by default the first operation.
        evidence: by default what joins the two, and what put each where it is.
    """
    first = group[0]
    return finding(
        code, title, program.source.place(first.node if at is None else at),
        how_they_meet(program, first) if evidence is None else evidence, fix,
        severity="error", sites=places_of(program, group),
    )  # fmt: skip


def that_they_meet(program: Program, meeting: Meeting) -> Message:
    """Returns the sentence that says which two tensors are joined, and where each is."""
    return message(
        "`{offending}` is {where} but is used with `{other}`, which is {there}",
        offending=program.source.shown(meeting.offending.node), where=in_words(meeting.offending.tensor.where),
        other=program.source.shown(meeting.other.node), there=in_words(meeting.other.tensor.where),
    )  # fmt: skip


def what_joins(program: Program, meeting: Meeting) -> Message:
    """Returns the sentence that says which operation joins two tensors."""
    call, line = program.source.shown(meeting.node), line_of(meeting.node)
    return message("`{call}`, line {line}, combines the two", call=call, line=line)


def how_they_meet(program: Program, meeting: Meeting) -> tuple[Message, ...]:
    """Returns the sentences that say which operation joins two tensors, and what put each where it is."""
    return known(
        what_joins(program, meeting), came(program, meeting.offending.tensor), came(program, meeting.other.tensor)
    )


def known(*sentences: Message | None) -> tuple[Message, ...]:
    """Returns the sentences that there are."""
    return tuple(each for each in sentences if each is not None)


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
