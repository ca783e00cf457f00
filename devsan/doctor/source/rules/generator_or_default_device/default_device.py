"""DV111: torch's default device was changed between two tensors that are used together.

What it does
    Finds `torch.set_default_device` (and `with torch.device(...)`) where a tensor that a factory without `device=`
    created under it is used with one that was created before or elsewhere.

Why is this bad
    The default device applies to the whole process: it changes the device of every factory call, including those of
    libraries that rely on the CPU. The device of a tensor then depends on which line runs first.

Example
    table = torch.arange(4.0)
    torch.set_default_device("cuda")
    y = table * torch.ones(4)

Use instead
    table = torch.arange(4.0, device="cuda")
    y = table * torch.ones(4, device="cuda")

Fix safety
    Not edited: every line below the change may depend on it.
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
    """Yields a finding for each tensor that the default placed."""
    for group in meetings_by_tensor(program, "default"):
        source, first = program.source, group[0]
        yield cannot_be_joined(
            CODE,
            message(
                "`{offending}` is {where} but is used with `{other}`, which is {there}: the default device was changed",
                offending=source.shown(first.offending.node), where=in_words(first.offending.tensor.where),
                other=source.shown(first.other.node), there=in_words(first.other.tensor.where),
            ),
            program, group, message("pass the device where tensors are created, and do not change the default device"),
            at=first.offending.tensor.made,
        )  # fmt: skip
