"""DV202: DataParallel or DistributedDataParallel wraps a model that is split across GPUs.

What it does
    Finds `DataParallel(model)` and `DistributedDataParallel(model)` where a device map splits the model, and
    DataParallel of a model that was moved to another GPU than the first.

Why is this bad
    DataParallel needs the whole module on its first GPU and replicates it to the others. A model that a device map
    splits is not on one GPU.

Example
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    model = torch.nn.DataParallel(model)

Use instead
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")

Fix safety
    Not edited: splitting a model and replicating it are two different designs.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import Wrapped
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import first_of_each, in_words, line_of

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each wrapper."""
    wrapped = [event for event in program.events if isinstance(event, Wrapped)]
    for first, _ in first_of_each((event.node, event) for event in wrapped):
        assert isinstance(first, Wrapped)
        source, shown = program.source, program.source.shown(first.node)
        if first.map is not None:
            yield finding(
                CODE,
                message("`{call}` wraps a model that the device map `{map}` splits",
                        call=shown, map=first.map.text),
                source.place(first.node),
                (message("the device map is in line {line}", line=line_of(first.map.node)),
                 message("{wrapper} needs the whole model on one GPU", wrapper=first.by)),
                message("keep one of the two: the device map splits the model, the wrapper replicates it"),
                severity="error",
            )  # fmt: skip
            continue
        first_gpu = first.ids[0] if first.ids else 0
        placed = first.placed
        if first.by == "DataParallel" and placed.kind == "gpu" and (placed.index or 0) != first_gpu:
            yield finding(
                CODE,
                message("`{call}` wraps a model that is {where}; it must be on cuda:{index}",
                        call=shown, where=in_words(placed), index=first_gpu),
                source.place(first.node),
                (message("DataParallel copies the module from its first GPU"),),
                message('move the model to "cuda:{index}", or list its GPU first in `device_ids`', index=first_gpu),
                severity="error",
                confidence="certain",
            )  # fmt: skip
