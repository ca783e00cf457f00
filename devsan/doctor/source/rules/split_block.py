"""DV107: a device map splits a block, and plain Python code combines the two sides.

What it does
    Finds operations in a module's own method that combine the outputs of its parts, where the device map has put
    these parts on several GPUs: a residual, a skip connection, or a parameter of the module used with a layer.

Why is this bad
    The hooks of a device map move the inputs of modules. `+` and `torch.cat` are not modules and have no hook.

Example
    # Block.forward gives self.norm(x) + self.mlp(x)
    model = dispatch_model(Block(), {"norm": 0, "mlp": 1})

Use instead
    model = dispatch_model(Block(), {"": 0})

Fix safety
    Not edited: only the author of the block knows where the device map may split it.
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
    """Yields a finding for each operation."""
    for group in meetings_by_operation(program, "split"):
        source, first = program.source, group[0]
        yield cannot_be_joined(
            CODE,
            message(
                "`{offending}` is {where} but is used with `{other}`, which is {there}: the device map splits this "
                "block",
                offending=source.shown(first.offending.node), where=in_words(first.offending.tensor.where),
                other=source.shown(first.other.node), there=in_words(first.other.tensor.where),
            ),
            program, group,
            message("keep the block whole: add its class to `no_split_module_classes`, or put its parts on one GPU in "
                    "the device map"),
            evidence=(message("`{call}` combines parts that the device map places on different devices, and has no "
                              "hook",
                              call=source.shown(first.node)),),
        )  # fmt: skip
