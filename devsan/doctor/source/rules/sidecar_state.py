"""DV109: an adapter is not where the layer is that it stands beside.

What it does
    Finds weights of adapters (LoRA and its like, by their names) that were made after the model was placed, or with one
    device for all layers, where they meet what the layer gives.

Why is this bad
    Whatever placed the model has come and gone. What is made later is on the CPU, or where one device value says.

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
    Not edited: the adapter may be made late on purpose, and then takes its device from the layer.
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
