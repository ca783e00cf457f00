"""DV107: a device map cuts inside of a block, and plain Python joins the two sides.

What it does
    Finds operations in a module's own method that join what parts of it give, where the device map has put these parts
    on several GPUs: a residual, a skip connection, an own parameter beside a layer.

Why is this bad
    The hooks of a device map bring the inputs of modules. `+` and `torch.cat` are no modules and have no hook.

Example
    # Block.forward gives self.norm(x) + self.mlp(x)
    model = dispatch_model(Block(), {"norm": 0, "mlp": 1})

Use instead
    model = dispatch_model(Block(), {"": 0})

Fix safety
    Not edited: where the map may cut is for the one who knows the block to say.
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
