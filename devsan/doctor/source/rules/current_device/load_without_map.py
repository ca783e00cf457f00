"""DV115: torch.load puts tensors back on the GPU that they were saved from.

What it does
    Finds `torch.load(...)` without `map_location` in a program that runs as several ranks, or if the loaded tensors
    are then moved.

Why is this bad
    A checkpoint stores the GPU of each tensor. Every rank loads the tensors to the GPU of the rank that saved them,
    usually GPU 0; on a machine with fewer GPUs, the load fails.

Example
    model.load_state_dict(torch.load(path))

Use instead
    model.load_state_dict(torch.load(path, map_location="cpu"))

Fix safety
    Safe: `load_state_dict` copies to the device of the parameters, and a later move then starts from the CPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.edits import with_argument
from devsan.doctor.source.events import Loaded, LoadedMoved, Ranks
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import (
    first_of_each,
    how_ranks_are_known,
    line_of,
    runs_in_ranks,
    some,
)

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each load."""
    sign = runs_in_ranks(program)
    groups = any(isinstance(event, Ranks) and event.sign == "group" for event in program.events)
    in_ranks = sign is not None and (groups or program.launched > 1)
    moved = {event.load: event.node for event in program.events if isinstance(event, LoadedMoved)}
    loaded = [event for event in program.events if isinstance(event, Loaded)]
    for first, _ in first_of_each((event.node, event) for event in loaded):
        source, node = program.source, first.node
        if in_ranks and sign is not None:
            why = how_ranks_are_known(program, sign)
        elif node in moved:
            why = message("`{call}`, line {line}, moves it again: it is copied to two GPUs, or the first one does not "
                          "exist",
                          call=source.shown(moved[node]), line=line_of(moved[node]))  # fmt: skip
        else:
            continue
        safe = isinstance(node, ast.Call) and len(node.args) == 1
        yield finding(
            CODE,
            message("`{call}` loads tensors to the GPUs that the checkpoint was saved from", call=source.shown(node)),
            source.place(node),
            (why,),
            message('load to the CPU: `map_location="cpu"`'),
            some(with_argument(source, node, "map_location", '"cpu"', safe) if edits else None),
        )
