"""A batch goes to the device of the model where a loop takes it from its loader."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, source_of
from devsan.fix.scope import LITERAL, devices

_DOUBT = 21


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the line at the start of a loop that moves what it took."""
    wanted = [operand for operand in failure.operands if operand["device"].startswith("cuda")]
    for frame in failure.own_frames:
        source = source_of(frame["path"])
        if source is None:
            continue
        node = source.expression_at(frame)
        loop = _loop_around(source, node) if node is not None else None
        if loop is not None and wanted and isinstance(node, ast.Call) and _is_given(loop, node):
            yield from _moved(source, loop, node, wanted[0])


def _loop_around(source: Source, node: ast.AST) -> ast.For | None:
    around: ast.AST | None = node
    while around is not None and not isinstance(around, (ast.For, ast.FunctionDef, ast.ClassDef)):
        around = source.parents.get(around)
    return around if isinstance(around, ast.For) else None


def _is_given(loop: ast.For, call: ast.Call) -> bool:
    """Whether ``call`` gets something of what the loop takes from a loader."""
    taken = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    given = [*call.args, *(each.value for each in call.keywords)]
    named = {node.id for each in given for node in ast.walk(each) if isinstance(node, ast.Name)}
    called = {each.func.id for each in ast.walk(loop) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    if taken & called:
        return False  # layers, not data
    counted = isinstance(loop.iter, ast.Call) and function_name(loop.iter) in ("range", "enumerate", "zip", "items")
    return bool(taken & named) and not counted


def _moved(source: Source, loop: ast.For, call: ast.Call, wanted: Mapping[str, Any]) -> Iterator[Change]:
    said: list[tuple[str, int]] = []
    if isinstance(call.func, (ast.Name, ast.Attribute)):
        said.append((f"next({source.segment(call.func)}.parameters()).device", 1))
    said += devices(source, loop.body[0], wanted)
    for device, doubt in said:
        for line in _lines(source, loop, device):
            text = message("move `{name}` to {device} at the start of the loop", name=source.segment(loop.target),
                           device=device.strip('"'))  # fmt: skip
            yield Change(
                text, "use_site", (source.insert_before(loop.body[0], [line]),), doubt=_DOUBT + min(doubt, LITERAL)
            )


def _lines(source: Source, loop: ast.For, device: str) -> Iterator[str]:
    target = loop.target
    if isinstance(target, ast.Name):
        used = [node for node in ast.walk(loop) if isinstance(node, ast.Name) and node.id == target.id]
        parents = [source.parents.get(node) for node in used]
        if any(isinstance(each, ast.keyword) and each.arg is None for each in parents) or any(
            isinstance(each, ast.Subscript)
            and isinstance(each.slice, ast.Constant)
            and isinstance(each.slice.value, str)
            for each in parents
        ):
            yield f"{target.id} = {{key: each.to({device}) for key, each in {target.id}.items()}}"
        else:
            yield f"{target.id} = {target.id}.to({device})"
    elif isinstance(target, ast.Tuple) and all(isinstance(each, ast.Name) for each in target.elts):
        names = [source.segment(each) for each in target.elts]
        yield f"{', '.join(names)} = {', '.join(f'{name}.to({device})' for name in names)}"
