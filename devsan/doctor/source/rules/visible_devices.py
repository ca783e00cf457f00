"""DV406: a GPU is named by a number that CUDA_VISIBLE_DEVICES leaves none for.

What it does
    Finds `cuda:k`, `set_device(k)` and their like where CUDA_VISIBLE_DEVICES, set by the program or its launch command,
    names k GPUs or fewer.

Why is this bad
    A program numbers the GPUs that it sees from 0. With `CUDA_VISIBLE_DEVICES=2,3` they are cuda:0 and cuda:1, and
    cuda:2 is an invalid device ordinal.

Example
    os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"
    model = Net().to("cuda:2")

Use instead
    os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"
    model = Net().to("cuda:0")

Fix safety
    Not edited: either of the two may be the mistake.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.doctor.findings import Finding
from devsan.doctor.source.events import Chooses, UsesGpu
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.signs import first_of_each, places_of

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Finding]:
    """Yields one finding for the program."""
    beyond = [event for event in program.events if isinstance(event, UsesGpu | Chooses) and _is_beyond(event)]
    for first, group in first_of_each((program.source.tree, event) for event in beyond):
        source, visible = program.source, first.visible
        count = visible.count or 0
        left = "no GPU" if not count else "cuda:0 only" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        yield Finding(
            CODE,
            f"`{source.shown(first.node)}` uses cuda:{first.where.index}, and CUDA_VISIBLE_DEVICES={visible.text} "
            f"leaves {left}",
            source.place(first.node),
            ("a program numbers the GPUs that it sees from 0",),
            "count from 0, or let the program see more GPUs",
            severity="error",
            confidence="certain",
            sites=places_of(program, group),
        )  # fmt: skip


def _is_beyond(event: UsesGpu | Chooses) -> bool:
    count, number = event.visible.count, event.where.index
    if event.guarded or event.caught or event.where.kind != "gpu" or count is None:
        return False
    return (number or 0) >= count
