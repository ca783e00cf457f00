"""DV104: a total is on another device than what is added to it.

What it does
    Finds sums that outlive a step (a running loss, a number of right answers), and sums of what several GPUs gave,
    where the two sides are on different devices.

Why is this bad
    A scalar of the CPU may join a tensor of a GPU; a scalar of a GPU may join nothing elsewhere, and `+=` cannot move
    its target.

Example
    total_loss = torch.zeros(1)
    for batch in loader:
        total_loss += loss_of(model, batch)

Use instead
    total_loss = 0.0
    for batch in loader:
        total_loss += loss_of(model, batch).item()

Fix safety
    Not edited: `.item()` waits for the GPU, and a total on the GPU does not; which one is right depends on the loop.
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
