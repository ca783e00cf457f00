"""DV115: a program that runs as several ranks uses "cuda" before it selects its GPU, or never selects one.

What it does
    In a program that creates a process group (or is launched with several ranks), finds `"cuda"` without an index
    and `.cuda()` where nothing selects the current GPU, or where `torch.cuda.set_device` comes after that use.

Why is this bad
    The current GPU is GPU 0 in every rank. All models end up on it, NCCL reports a duplicate GPU, or the ranks run
    out of memory. A late selection leaves a context, and the tensors that were already placed, on GPU 0.

Example
    torch.distributed.init_process_group("nccl")
    model = Net().cuda()

Use instead
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl")
    model = Net().cuda()

Fix safety
    Shown, but not applied by default: the line is correct with torchrun, accelerate and deepspeed, which set
    LOCAL_RANK; other launchers use other names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.edits import inserted
from devsan.doctor.source.events import Chooses, Event, Ranks, UsesGpu
from devsan.doctor.source.program import Program, flows
from devsan.doctor.source.rules.predicates import (
    how_ranks_are_known,
    line_of,
    places_of,
    runs_in_ranks,
    some,
)

CODE = own_code(__name__)

_CHOICE = 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))'


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields one finding for the program."""
    sign = runs_in_ranks(program)
    groups = [event for event in program.events if isinstance(event, Ranks) and event.sign == "group"]
    if sign is None or not (groups or program.launched > 1):
        return
    bare = [event for event in program.events if _is_bare(event)]
    chosen = [event for event in program.events if isinstance(event, Chooses)]
    source = program.source
    if bare and not chosen:
        first = bare[0]
        at = groups[0].node if groups and source.function(groups[0].node) is source.function(first.node) else first.node
        yield finding(
            CODE,
            message('`{call}` uses "cuda" in every rank, but no rank has selected its GPU',
                    call=source.shown(first.node)),
            source.place(first.node),
            (how_ranks_are_known(program, sign),
             message("the current GPU is GPU 0 in every rank until the rank selects another")),
            message("select it before the first use of CUDA: `{choice}`", choice=_CHOICE),
            some(_edit(program, at) if edits else None),
            severity="error",
            sites=places_of(program, bare),
        )  # fmt: skip
        return
    for flow in flows(program.events):
        late = next((event for event in flow if isinstance(event, Chooses)), None)
        early = [event for event in flow[: flow.index(late)] if _is_bare(event)] if late is not None else []
        if early and late is not None:
            yield finding(
                CODE,
                message("`{call}` is called after CUDA was used", call=source.shown(late.node)),
                source.place(late.node),
                (message("`{call}`, line {line}, already used the current GPU: GPU 0 in every rank",
                         call=source.shown(early[0].node), line=line_of(early[0].node)),
                 how_ranks_are_known(program, sign)),
                message("select the GPU before the first use of CUDA"),
                sites=places_of(program, early),
            )  # fmt: skip


def _is_bare(event: Event) -> bool:
    return isinstance(event, UsesGpu) and event.where.index is None and event.chosen is None and not event.guarded


def _edit(program: Program, node: ast.AST) -> Edit | None:
    statement = program.source.statement(node)
    imported = {
        alias.name for each in program.source.tree.body if isinstance(each, ast.Import) for alias in each.names
        if alias.asname is None
    }  # fmt: skip
    if statement is None or not {"os", "torch"} <= imported:
        return None
    return inserted(program.source, statement, _CHOICE, safe=False)
