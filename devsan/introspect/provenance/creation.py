"""What the function that failed says about a variable: what it was given, what was copied of it, whether it is data."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import MethodType
from typing import Any

from devsan import core
from devsan.diagnostics.torch_names import MOVES
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.places import place
from devsan.introspect.frames.scopes import Spot
from devsan.introspect.provenance.amended import kept, target_of
from devsan.introspect.provenance.dropped_results import is_move, receiver_of_move
from devsan.introspect.provenance.named_device import device_named
from devsan.introspect.provenance.reader import event_at
from devsan.introspect.source.sources import nodes_in, statements_of, tree_of
from devsan.introspect.source.statements import said_by
from devsan.introspect.source.syntax import function_around


def last_value(name: str, frame: Frame) -> ast.expr | None:
    """Returns what the function gave ``name`` last before the failing line."""
    last: ast.expr | None = None
    for target, value in _assignments(frame):
        if value.lineno < frame.line and ast.unparse(target) == name:
            last = value
    return last


def copies_of(name: str, frame: Frame) -> Iterator[core.Event]:
    """Yields an event for each copy of ``name`` that the function makes before the failing line: ``y = x.to(d)``."""
    for node in statements_of(tree_of(frame.code) or ast.Module([], [])):
        if not isinstance(node, (ast.Expr, ast.Assign)) or node.lineno >= frame.line:
            continue
        call = node.value
        if not is_move(call) or ast.unparse(receiver_of_move(call)) != name:
            continue
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == name for target in node.targets):
            continue
        yield _copied(node, call, frame)


def dropped_moves(holder: object, frames: Sequence[Frame]) -> Iterator[core.Event]:
    """Yields an event for each statement of a running function that moves an object and throws the result away."""
    for frame in reversed(frames):
        tree = function_around(frame.file, frame.line) if frame.whose is Whose.PROGRAM else None
        for node in nodes_in(tree, ast.Expr) if tree is not None else ():
            call = node.value if node.lineno < frame.line else None
            method = call.func if isinstance(call, ast.Call) else None
            if not isinstance(method, ast.Attribute) or method.attr not in MOVES:
                continue
            if frame.scope.value(method.value) is holder and _returns_another(frame.scope.value(method)):
                event = _copied(node, call, frame)
                event.op, event.amended = f"{type(holder).__name__}.{method.attr}", ""
                yield event


def _returns_another(method: object) -> bool:
    """Whether a ``to`` may return another object: one that returns nothing, or ``self``, has moved its own, if any."""
    tree = tree_of(method.__func__.__code__) if isinstance(method, MethodType) else None
    if tree is None:
        return True
    returned = [node.value for node in statements_of(tree) if isinstance(node, ast.Return) and node.value is not None]
    return any(getattr(value, "id", "") != "self" for value in returned)


def _copied(node: Any, call: Any, frame: Frame) -> core.Event:
    here = place(frame.code, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
    said = said_by(call)
    event = event_at([here], "", f"Tensor.{said.call}", is_move=True)
    event.op, event.device_text, event.followed = f"Tensor.{said.call}", said.device or "", said.receiver
    tree = function_around(frame.file, frame.line) or ast.Module([], [])
    spot = Spot(frame.file, frame.function, tree, node.lineno, frame, globals=frame.scope.globals)
    named = device_named(target_of(call), spot)
    if named is not None and (":" in named.device or named.device == "cpu"):
        event.device = core.Device(named.device)
    event.discarded = isinstance(node, ast.Expr)
    event.amended = kept(node, spot) if event.discarded else ""
    return event


def is_loop_variable(name: str, frame: Frame) -> bool:
    """Returns whether ``name`` is what a loop over data, or ``next(iter(data))``, gave: a batch or a part of it."""
    for target, source in _loops(frame):
        names = {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
        if name in names and _is_data(source, frame):
            return True
    return False


def _loops(frame: Frame) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields what loops of the function give their values to, and what they run over."""
    tree = function_around(frame.file, frame.line)
    for node in nodes_in(tree, ast.For, ast.AsyncFor, ast.comprehension, ast.Assign) if tree is not None else ():
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            yield node.target, node.iter
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_next(node.value):
            yield node.targets[0], node.value


def _is_next(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "next"


def _is_data(node: ast.expr, frame: Frame) -> bool:
    text = ast.unparse(node).lower()
    if any(word in text for word in ("loader", "dataset", "batches", "data_iter", "train_iter", "train_data")):
        return True
    value = frame.scope.value(node)
    return any(base.__name__ in ("DataLoader", "Dataset", "IterableDataset") for base in type(value).__mro__)


def _assignments(frame: Frame) -> Iterator[tuple[ast.expr, ast.expr]]:
    tree = function_around(frame.file, frame.line)
    found: list[tuple[int, ast.expr, ast.expr]] = []
    for node in nodes_in(tree, ast.Assign, ast.AnnAssign) if tree is not None else ():
        if isinstance(node, ast.Assign):
            found.extend((node.lineno, target, node.value) for target in node.targets)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            found.append((node.lineno, node.target, node.value))
    yield from ((target, value) for _, target, value in sorted(found, key=lambda each: each[0]))
