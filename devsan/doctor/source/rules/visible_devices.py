"""DV406: a GPU index is out of range for CUDA_VISIBLE_DEVICES.

What it does
    Finds `cuda:k`, `set_device(k)` and similar calls where CUDA_VISIBLE_DEVICES, set by the program or its launch
    command, lists k GPUs or fewer.

Why is this bad
    A program numbers its visible GPUs from 0. With `CUDA_VISIBLE_DEVICES=2,3` they are cuda:0 and cuda:1, and
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
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import Message, message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Chooses, UsesGpu
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import first_of_each, places_of

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields one finding for the program."""
    beyond = [event for event in program.events if isinstance(event, UsesGpu | Chooses) and _is_beyond(event)]
    for first, group in first_of_each((program.source.tree, event) for event in beyond):
        source = program.source
        yield finding(
            CODE,
            _title(source.shown(first.node), first),
            source.place(first.node),
            (message("a program numbers its visible GPUs from 0"),),
            message("count from 0, or make more GPUs visible to the program"),
            severity="error",
            confidence="certain",
            sites=places_of(program, group),
        )  # fmt: skip


def _title(call: str, event: UsesGpu | Chooses) -> Message:
    index, visible, count = event.where.index, event.visible.text, event.visible.count or 0
    if not count:
        return message("`{call}` uses cuda:{index}, but CUDA_VISIBLE_DEVICES={visible} hides all GPUs",
                       call=call, index=index, visible=visible)  # fmt: skip
    if count == 1:
        return message("`{call}` uses cuda:{index}, but CUDA_VISIBLE_DEVICES={visible} leaves only cuda:0",
                       call=call, index=index, visible=visible)  # fmt: skip
    return message("`{call}` uses cuda:{index}, but CUDA_VISIBLE_DEVICES={visible} leaves only cuda:0 to cuda:{last}",
                   call=call, index=index, visible=visible, last=count - 1)  # fmt: skip


def _is_beyond(event: UsesGpu | Chooses) -> bool:
    count, number = event.visible.count, event.where.index
    if event.guarded or event.caught or event.where.kind != "gpu" or count is None:
        return False
    return (number or 0) >= count
