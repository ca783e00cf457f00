"""DV110: an average of weights is copied from a model before the model moves.

What it does
    Finds copies of `model.parameters()` (an average, a snapshot) that were made before the model was moved, and are
    used with the parameters afterwards.

Why is this bad
    The copies stay on the CPU. The first update raises an error.

Example
    shadow = [p.detach().clone() for p in model.parameters()]
    model.cuda()
    for average, p in zip(shadow, model.parameters()):
        average.mul_(0.9).add_(p.detach(), alpha=0.1)

Use instead
    model.cuda()
    shadow = [p.detach().clone() for p in model.parameters()]

Fix safety
    Not edited: the copies may be on the CPU to save memory, and then the parameters must be moved there for the
    update.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import cannot_be_joined, in_words, meetings_by_operation

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each place where the copies meet their parameters."""
    for group in meetings_by_operation(program, "state"):
        source, first = program.source, group[0]
        offending, other = source.shown(first.offending.node), source.shown(first.other.node)
        yield cannot_be_joined(
            CODE,
            message("`{offending}` was copied from a model before the model moved, but is used with `{other}`",
                    offending=offending, other=other),
            program, group, message("move the model first, then copy its parameters"),
            evidence=(message("`{name}` is {where}", name=offending, where=in_words(first.offending.tensor.where)),
                      message("`{name}` is {where}", name=other, where=in_words(first.other.tensor.where))),
        )  # fmt: skip
