"""DV109: an adapter is on another device than its base layer.

What it does
    Finds adapter weights (LoRA and similar, by their names) that were created after the model was placed, or on one
    device for all layers, and are used with the output of the layer.

Why is this bad
    The model is already placed at that time. A tensor that is created later is on the CPU, or on the device of a
    single value.

Example
    model = Base().cuda()
    model.layer = LoraLinear(model.layer, rank=2)
    model(batch.cuda())

Use instead
    model = Base()
    model.layer = LoraLinear(model.layer, rank=2)
    model.cuda()
    model(batch.cuda())

Fix safety
    Not edited: the adapter may be created late on purpose, and then needs the device of the layer.
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
    """Yields a finding for each operation."""
    for group in meetings_by_operation(program, "sidecar"):
        yield cannot_be_joined(
            CODE, that_they_meet(program, group[0]), program, group,
            message("create the adapter on the device of its base layer: `device=layer.weight.device`"),
        )  # fmt: skip
