"""A kernel is launched while the GPU of its tensors is the current one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, source_of
from devsan.fix.scope import LITERAL

_DOUBT = 10


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``with torch.cuda.device(...)`` around each call on the way to the kernel, then one ``set_device``."""
    if failure.finding["kind"] != "pointer":
        return
    for number, frame in enumerate(failure.own_frames):
        source = source_of(frame["path"])
        call = source.expression_at(frame) if source is not None else None
        if source is None or not isinstance(call, ast.Call):
            continue
        statement = source.statement_around(call)
        if isinstance(statement, ast.Raise):
            continue
        for argument in [*call.args, *(each.value for each in call.keywords)]:
            if isinstance(argument, (ast.Name, ast.Attribute)):
                yield from _around(source, statement, f"{source.segment(argument)}.device", _DOUBT + number)
    devices = [each["device"] for each in failure.operands if each["device"].startswith("cuda")]
    for frame in failure.own_frames[-1:]:
        source = source_of(frame["path"])
        for device in dict.fromkeys(devices):
            if source is not None:
                text = message("make {device} the current device before the program begins", device=device)
                line = f'torch.cuda.set_device("{device}")'
                yield Change(text, "configuration", (source.insert_after(source.last_import, [line]),), doubt=LITERAL)


def _around(source: Source, statement: ast.stmt, device: str, doubt: int) -> Iterator[Change]:
    edit = source.inside(statement, f"with torch.cuda.device({device})")
    if edit is not None:
        text = message("make {device} the current device where the kernel is launched", device=device)
        yield Change(text, "use_site", (edit,), doubt=doubt)
