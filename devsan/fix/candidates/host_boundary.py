"""A tensor goes to the host where NumPy, or a function that reads it there, takes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import keyword
from devsan.fix.candidates.use_site import is_read, move
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.origins import operand_at
from devsan.fix.source import Source, source_of

_DOUBT = 10


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the copies to the host: of the operand itself, then of the arguments of the calls around."""
    if failure.finding["kind"] == "host":
        yield from _read_there(failure)
    if failure.finding["kind"] != "numpy":
        return
    for number, frame in enumerate(failure.own_frames):
        source = source_of(frame["path"])
        if source is None:
            continue
        named = [operand_at(source, frame, operand) for operand in failure.operands] if number == 0 else []
        found = [node for node in named if node is not None]
        call = source.expression_at(frame)
        if isinstance(call, ast.Call) and not found:
            found = [*call.args, *(each.value for each in call.keywords)]
            if isinstance(call.func, ast.Attribute):
                found.append(call.func.value)
        detached = any(operand["requires_grad"] for operand in failure.operands)
        for node in found:
            if is_read(source, node) and not isinstance(node, (ast.Constant, ast.Starred)):
                yield from _copied(source, node, detached, _DOUBT + number)


def _read_there(failure: Failure) -> Iterator[Change]:
    """The argument stays on, or goes to, the host; which one it is, the sentence tells by its name at best."""
    for number, frame in enumerate(failure.own_frames):
        source = source_of(frame["path"])
        call = source.expression_at(frame) if source is not None else None
        if source is None:
            continue
        named = [operand_at(source, frame, operand) for operand in failure.operands if operand["offending"]]
        found = [node for node in named if node is not None and is_read(source, node)]
        if not found and isinstance(call, ast.Call):
            found = [*call.args[::-1], *(each.value for each in call.keywords)]
        yield from _unpinned(source)
        for node in found:
            if not isinstance(node, (ast.Constant, ast.Starred)):
                yield move(source, node, '"cpu"', source.segment(node), _DOUBT + number)


def _unpinned(source: Source) -> Iterator[Change]:
    """A loader of tensors that are on a GPU already."""
    for node in ast.walk(source.tree):
        pinned = keyword(node, "pin_memory") if isinstance(node, ast.Call) else None
        if pinned is not None and not (isinstance(pinned, ast.Constant) and not pinned.value):
            text = message("do not pin what is on a GPU already: pin_memory=False")
            yield Change(text, "configuration", (source.replace(pinned, "False"),), doubt=_DOUBT + 5)


def _copied(source: Source, node: ast.expr, detached: bool, doubt: int) -> Iterator[Change]:
    name = source.segment(node)
    atom = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    copy = ".detach().cpu()" if detached else ".cpu()"
    for number, said in enumerate((copy, f"{copy}.numpy()")):  # a function of NumPy may give a tensor back for a tensor
        text = message("copy `{name}` to the host where NumPy takes it", name=name)
        after = f"{name if atom else f'({name})'}{said}"
        yield Change(text, "use_site", (source.replace(node, after),), doubt=doubt + number)
    text = message("copy the elements of `{name}` to the host where NumPy takes them", name=name)
    yield Change(text, "use_site", (source.replace(node, f"[each{copy} for each in {name}]"),), doubt=doubt + 2)
