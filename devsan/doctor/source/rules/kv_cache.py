"""DV106: generation state is on another device than the layer that uses it.

What it does
    Finds keys, values, recurrent states and beam indices on one device that are used in a layer that the program,
    or a device map, has put on another GPU.

Why is this bad
    Each layer needs its own state on its own GPU. One allocation for all layers, or one move of "the cache", is
    correct only for the layers on one GPU.

Example
    layers = [torch.nn.GRUCell(8, 8).to(f"cuda:{i}") for i in range(2)]
    states = [torch.zeros(2, 8, device="cuda:0") for layer in layers]

Use instead
    layers = [torch.nn.GRUCell(8, 8).to(f"cuda:{i}") for i in range(2)]
    states = [torch.zeros(2, 8, device=layer.weight_ih.device) for layer in layers]

Fix safety
    Not edited: the code that creates the state needs the device of each layer.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import cannot_be_joined, in_words, meetings_by_tensor

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each state."""
    for group in meetings_by_tensor(program, "generation"):
        source, first = program.source, group[0]
        yield cannot_be_joined(
            CODE,
            message(
                "`{offending}` is generation state {where} but is used with `{other}`, which is {there}",
                offending=source.shown(first.offending.node), where=in_words(first.offending.tensor.where),
                other=source.shown(first.other.node), there=in_words(first.other.tensor.where),
            ),
            program, group, message("keep the state of each layer on that layer's GPU, and move indices there"),
        )  # fmt: skip
