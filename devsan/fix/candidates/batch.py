"""A batch goes to the device of the model where a loop takes it from its loader."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.scope import LITERAL, devices
from devsan.fix.source import Source, source_of

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
    moved = list(itertools.takewhile(bool, map(_moved_by, loop.body)))
    if len(moved) == len(loop.body):
        return
    before = loop.body[len(moved)]
    for device, doubt in said:
        for name, line in _lines(source, loop, device, moved):
            text = message("move `{name}` to {device} at the start of the loop", name=name, device=device.strip('"'))
            yield Change(text, "use_site", (source.insert_before(before, [line]),), doubt=_DOUBT + min(doubt, LITERAL))


def _moved_by(statement: ast.stmt) -> str | None:
    """The name that a statement does nothing with but move it: ``ids = ids.to(device)``."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=same), attr="to" | "cuda" as how), args=args) as call,
        ) if name == same and (how == "cuda" or any(map(_is_device, [*args, *(each.value for each in call.keywords)]))):
            return name
    return None


def _is_device(node: ast.expr) -> bool:
    """Whether an argument of ``to`` may be a GPU, and is no dtype, no flag and no "cpu"."""
    if isinstance(node, ast.Constant):
        return node.value != "cpu" and not isinstance(node.value, bool | None)
    words = ast.unparse(node)
    return (not words.startswith("torch.") and not words.endswith("dtype")) or words.startswith("torch.device")


def _lines(source: Source, loop: ast.For, device: str, without: Collection[str | None]) -> Iterator[tuple[str, str]]:
    """What moves what the loop takes, but for the names ``without``, and how that is called."""
    target = loop.target
    if isinstance(target, ast.Name):
        if target.id in without:
            return
        used = [node for node in ast.walk(loop) if isinstance(node, ast.Name) and node.id == target.id]
        parents = [source.parents.get(node) for node in used]
        if any(isinstance(each, ast.keyword) and each.arg is None for each in parents) or any(
            isinstance(each, ast.Subscript)
            and isinstance(each.slice, ast.Constant)
            and isinstance(each.slice.value, str)
            for each in parents
        ):
            yield target.id, f"{target.id} = {{key: each.to({device}) for key, each in {target.id}.items()}}"
        else:
            yield target.id, f"{target.id} = {target.id}.to({device})"
    elif isinstance(target, ast.Tuple) and all(isinstance(each, ast.Name) for each in target.elts):
        names = [name for each in target.elts if (name := source.segment(each)) not in without]
        if names:
            named = ", ".join(names)
            yield named, f"{named} = {', '.join(f'{name}.to({device})' for name in names)}"
