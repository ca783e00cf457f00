"""In a job of several ranks, what was made on the host is made on the GPU of its rank.

A GPU that is written out with its number is right in one rank. "cuda" is the current GPU, which torch.cuda.set_device,
accelerate and deepspeed.initialize have made that of the rank.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import placed
from devsan.fix.change import Change
from devsan.fix.failure import Failure, placing_frames
from devsan.fix.source import source_of

_IN_GROUP, _MIXED = 5, 27  # see NOTE [Doubts]; a copy would not be what the group writes to


def propose(failure: Failure) -> Iterator[Change]:
    """Yields "cuda" for each line that made an operand on the host."""
    on_host = [each for each in failure.operands if each["device"] == "cpu"]
    met = failure.is_mixed and any(each["device"].startswith("cuda") for each in failure.operands)
    if failure.finding["rank"] is None or not (met or failure.finding["kind"] == "group"):
        return
    for operand in on_host:
        for frame in placing_frames(operand):
            source = source_of(frame["path"]) if not failure.is_live(frame) else None
            call = source.expression_at(frame) if source is not None else None
            if source is not None and isinstance(call, ast.Call):
                text = message("put `{name}` on the GPU of the rank where it is made",
                               name=operand["name"] or operand["qualified_name"])  # fmt: skip
                edit = source.replace(call, placed(source, call, '"cuda"'))
                yield Change(text, "creation_site", (edit,), doubt=_MIXED if met else _IN_GROUP)
