"""DV115: a tensor goes to the current GPU, and is used with one on a numbered GPU.

What it does
    Finds `"cuda"` without an index and `.cuda()` whose tensor is used with one on `cuda:1` or another numbered GPU,
    where nothing has selected the current GPU.

Why is this bad
    `"cuda"` means the current GPU, which is GPU 0 until `torch.cuda.set_device` selects another.

Example
    model = torch.nn.Linear(4, 4).to("cuda:1")
    mask = torch.zeros(4).cuda()
    y = model(x) * mask

Use instead
    model = torch.nn.Linear(4, 4).to("cuda:1")
    mask = torch.zeros(4).to("cuda:1")
    y = model(x) * mask

Fix safety
    Not edited: the mistake may be the number or the missing number.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Chooses
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import came, in_words, known, meetings_by_tensor, places_of

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each tensor that went to the current GPU."""
    if any(isinstance(event, Chooses) for event in program.events):
        return
    for group in meetings_by_tensor(program, "current"):
        source, first = program.source, group[0]
        bare, numbered = first.offending, first.other
        if bare.tensor.where.index is not None:
            bare, numbered = numbered, bare
        yield finding(
            CODE,
            message(
                "`{offending}` is on the current GPU but is used with `{other}`, which is {there}",
                offending=source.shown(bare.node), other=source.shown(numbered.node),
                there=in_words(numbered.tensor.where),
            ),
            source.place(bare.tensor.made if bare.tensor.made is not None else first.node),
            known(came(program, bare.tensor), came(program, numbered.tensor),
                  message("the current GPU is GPU 0: nothing in this file selects another")),
            message("name the GPU: `{device}`; or select it once with `torch.cuda.set_device`",
                    device=numbered.tensor.where),
            severity="error",
            confidence="likely",
            sites=places_of(program, group),
        )  # fmt: skip
