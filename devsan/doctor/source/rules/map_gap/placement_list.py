"""DV105: a part of a module stayed where it was created, but other parts were moved.

What it does
    Finds weights and buffers of a module that are on another device than their inputs, where the program has placed
    other parts: with a device map that does not contain the part, part by part, or before it replaced a layer.

Why is this bad
    The operation on this part and the others raises an error.

Example
    model = Classifier().cuda()
    model.head = nn.Linear(4, 3)
    model(batch.cuda())

Use instead
    model = Classifier()
    model.head = nn.Linear(4, 3)
    model.cuda()
    model(batch.cuda())

Fix safety
    Not edited: the part belongs in the code that placed the others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Meeting
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import came, first_of_each, known, places_of, that_they_meet, what_joins

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each part."""
    meetings = [event for event in program.events if isinstance(event, Meeting)]
    # A list of layers is seen twice: as a part that did not move, and as what its module has not registered.
    held = {event.node for event in meetings if event.cause == "held"}
    gaps = [event for event in meetings if event.cause == "gap" and event.node not in held]
    for first, group in first_of_each((event.offending.node, event) for event in gaps):
        assert isinstance(first, Meeting)
        source = program.source
        yield finding(
            CODE,
            that_they_meet(program, first),
            source.place(first.offending.node),
            known(what_joins(program, first), came(program, first.other.tensor)),
            message("place `{name}` with the rest: add it to the device map, or move the whole module",
                    name=source.shown(first.offending.node))
            if isinstance(first.offending.node, ast.Name | ast.Attribute)
            else message("place it with the rest: add it to the device map, or move the whole module"),
            severity="error",
            sites=places_of(program, group),
        )  # fmt: skip
