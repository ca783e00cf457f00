"""DV104: a total is on another device than the values that are added to it.

What it does
    Finds sums that are kept across steps (a running loss, a count of correct answers), and sums of results from
    several GPUs, where the two sides are on different devices.

Why is this bad
    A CPU scalar can be combined with a GPU tensor; a GPU scalar cannot be combined with a tensor on another device,
    and `+=` cannot move its target.

Example
    total_loss = torch.zeros(1)
    for batch in loader:
        total_loss += loss_of(model, batch)

Use instead
    total_loss = 0.0
    for batch in loader:
        total_loss += loss_of(model, batch).item()

Fix safety
    Not edited: `.item()` synchronizes with the GPU, and a total on the GPU does not; the right choice depends on
    the loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import cannot_be_joined, meetings_by_operation, that_they_meet

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each total."""
    for group in meetings_by_operation(program, "total"):
        yield cannot_be_joined(
            CODE, that_they_meet(program, group[0]), program, group,
            message("move the values of all devices to one before they are summed: `.to({name}.device)`",
                    name=program.source.shown(group[0].offending.node)),
        )  # fmt: skip
