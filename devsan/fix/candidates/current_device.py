"""The current GPU: a kernel is launched while it is that of its tensors, and no tensor is sent to it for its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.scope import LITERAL, devices
from devsan.fix.source import Source, source_of

_DOUBT = 10
_OF_A_TENSOR = 21


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``with torch.cuda.device(...)`` around each call on the way to the kernel, then one ``set_device``.

    Where tensors of two GPUs meet, it yields the device of a tensor in the place of the current one.
    """
    if failure.is_mixed and len({each["device"] for each in failure.operands if each["device"] != "cpu"}) > 1:
        for path in failure.own_paths:
            source = source_of(path)
            yield from _of_tensors(source) if source is not None else ()
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


def _of_tensors(source: Source) -> Iterator[Change]:
    """``x.device`` for ``torch.device("cuda", torch.cuda.current_device())``, and for the call alone."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or function_name(node) != "current_device":
            continue
        whole: ast.AST = node
        while isinstance(around := source.parents.get(whole), (ast.FormattedValue, ast.JoinedStr)) or (
            isinstance(around, ast.Call) and function_name(around) == "device"
        ):
            whole = around
        for device, doubt in devices(source, node, {"name": "", "device": "", "provenance": ()}):
            if device != source.segment(whole) and not device.startswith('"'):
                text = message("send tensors to {device} instead of the current GPU", device=device)
                yield Change(text, "creation_site", (source.replace(whole, device),), doubt=_OF_A_TENSOR + doubt)


def _around(source: Source, statement: ast.stmt, device: str, doubt: int) -> Iterator[Change]:
    edit = source.inside(statement, f"with torch.cuda.device({device})")
    if edit is not None:
        text = message("make {device} the current device where the kernel is launched", device=device)
        yield Change(text, "use_site", (edit,), doubt=doubt)
