"""DV301: a program that runs as several ranks puts every rank on the same GPU.

What it does
    In a program that creates a process group (or is launched with several ranks), finds a model that goes to one
    numbered GPU, `torch.cuda.set_device` with a number, and DistributedDataParallel with a number in `device_ids`.

Why is this bad
    The number is the same in every rank: all of them share one GPU, and the others are idle. NCCL rejects two ranks
    on one GPU.

Example
    torch.distributed.init_process_group("nccl")
    model = DistributedDataParallel(Net().to("cuda:0"), device_ids=[0])

Use instead
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    torch.distributed.init_process_group("nccl")
    model = DistributedDataParallel(Net().to(local_rank), device_ids=[local_rank])

Fix safety
    Not edited: the variable for the local rank depends on the program.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Chooses, Event, Move, Ranks, UsesGpu, Wrapped
from devsan.doctor.source.places import NOWHERE
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import (
    how_ranks_are_known,
    places_of,
    runs_in_ranks,
)

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields one finding for the program."""
    sign = runs_in_ranks(program)
    groups = any(isinstance(event, Ranks) and event.sign in ("group", "wrapper") for event in program.events)
    if sign is None or not (groups or program.launched > 1):
        return
    numbers = {event.where.index for event in program.events if isinstance(event, UsesGpu)} - {None}
    by_rank = any(
        isinstance(event, Chooses) and event.where == NOWHERE and not event.guarded for event in program.events
    )
    found = [event for event in program.events if _puts(event) or (by_rank and groups and _names(event))]
    # With several numbers in use a rank spans GPUs: a pipeline inside of each rank is its own design.
    if not found or len(numbers) > 1:
        return
    source = program.source
    yield finding(
        CODE,
        message("`{call}` selects the same GPU in every rank", call=source.shown(found[0].node)),
        source.place(found[0].node),
        (how_ranks_are_known(program, sign),),
        message('take the index from the rank: `int(os.environ["LOCAL_RANK"])`'),
        severity="error",
        sites=places_of(program, found),
    )


def _names(event: Event) -> bool:
    """A tensor that goes to a numbered GPU, where each rank has chosen its own."""
    return isinstance(event, UsesGpu) and event.where.index is not None and not event.guarded and "cuda:" in event.text


def _puts(event: Event) -> bool:
    if isinstance(event, Move):
        return event.where.kind == "gpu" and event.where.index is not None and not event.guarded
    if isinstance(event, Chooses):
        return event.where.kind == "gpu" and event.where.index is not None and not event.guarded
    return isinstance(event, Wrapped) and event.by == "DistributedDataParallel" and len(event.ids) == 1
