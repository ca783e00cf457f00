"""An operand goes to the device of another one where both are used."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, is_own, source_of


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the moves of one operand to another where the operation stands, then of the arguments further out."""
    for operand, partner in failure.pairs():
        for frame in failure.own_frames[:1]:
            source = source_of(frame["path"])
            node = source.expression_at(operand) if source is not None and operand["line"] else None
            if source is not None and node is not None and is_read(source, node):
                where = device_of(partner, source, node)
                yield move(source, node, where, operand["name"] or source.segment(node))
    for frame in failure.own_frames:
        yield from _arguments(failure, frame)


def _arguments(failure: Failure, frame: Mapping[str, Any]) -> Iterator[Change]:
    """An argument of a call further out goes to a named device: what is inside is a library's, or another file's."""
    source = source_of(frame["path"])
    call = source.expression_at(frame) if source is not None else None
    if source is None or not isinstance(call, ast.Call):
        return
    for device in dict.fromkeys(partner["device"] for _, partner in failure.pairs()):
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
            if not isinstance(argument, (ast.Constant, ast.Starred, ast.Lambda, ast.Dict, ast.List)):
                yield move(source, argument, f'"{device}"', source.segment(argument))


def device_of(operand: Mapping[str, Any], source: Source, beside: ast.AST) -> str:
    """Returns what says the device of ``operand`` beside ``beside``: ``x.device``, or its name in quotes."""
    name = operand["name"]
    try:
        parsed: ast.AST | None = ast.parse(name, mode="eval").body if name else None
    except SyntaxError:
        parsed = None
    if parsed is None or any(isinstance(node, ast.Call) for node in ast.walk(parsed)):
        return f'"{operand["device"]}"'
    root = parsed
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    known = {node.id for node in ast.walk(source.function_around(beside)) if isinstance(node, ast.Name)}
    known |= {node.arg for node in ast.walk(source.function_around(beside)) if isinstance(node, ast.arg)}
    return f"{name}.device" if isinstance(root, ast.Name) and root.id in known else f'"{operand["device"]}"'


def is_read(source: Source, node: ast.AST) -> bool:
    """Returns whether a value is read at ``node``: a target of an assignment is not, nor the function of a call."""
    parent = source.parents.get(node)
    if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return False
    if isinstance(parent, ast.Call) and parent.func is node:
        return False
    return not (isinstance(parent, ast.AugAssign) and parent.target is node)


def move(source: Source, node: ast.AST, device: str, name: str) -> Change:
    """Returns the change that appends ``.to(device)`` to an expression."""
    text = source.segment(node)
    atom = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.Dict))
    after = f"{text}.to({device})" if atom else f"({text}).to({device})"
    told = message("move `{name}` to {device} where it is used", name=name, device=device.strip('"'))
    return Change(told, "use_site", (source.replace(node, after),))


__all__ = ["device_of", "is_own", "is_read", "move", "propose"]
