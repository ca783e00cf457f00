"""DV204: a device map splits a model in a program that runs as several ranks.

What it does
    Finds `from_pretrained(device_map="auto")` (balanced, sequential, or a device map over several GPUs) and
    `dispatch_model` in a program that creates a process group, wraps in DistributedDataParallel, starts DeepSpeed,
    reads LOCAL_RANK, or is launched with several ranks.

Why is this bad
    Every rank splits its own copy across all GPUs, and its hooks move inputs to the GPUs of other ranks. The engine
    then moves the whole model to the GPU of the rank, but the hooks keep their devices.

Example
    local_rank = int(os.environ["LOCAL_RANK"])
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")

Use instead
    local_rank = int(os.environ["LOCAL_RANK"])
    model = AutoModelForCausalLM.from_pretrained(name, device_map={"": local_rank})

Fix safety
    Not edited: whether to remove the device map (DeepSpeed, FSDP) or to give each rank its GPU depends on the
    launch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Mapped
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import how_ranks_are_known, places_of, runs_in_ranks

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields one finding for the program."""
    sign = runs_in_ranks(program)
    mapped = [event for event in program.events if isinstance(event, Mapped) and event.map.spread and not event.guarded]
    if sign is None or not mapped:
        return
    source, first = program.source, mapped[0]
    yield finding(
        CODE,
        message("the device map `{map}` splits the model of every rank across all GPUs", map=first.map.text),
        source.place(first.node),
        (how_ranks_are_known(program, sign),
         message("each rank needs its model, or its part of the model, on its own GPU")),
        message("load it on the rank's GPU, `{argument}`, or without a device map if DeepSpeed or FSDP places it",
                argument='device_map={"": local_rank}'),
        severity="error",
        confidence="certain" if isinstance(sign, ast.Module) else "likely",
        sites=places_of(program, mapped),
    )  # fmt: skip
