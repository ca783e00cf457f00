"""What the source around a failure says about a variable: where it was made, and what was made of it.

For what no record tells: tensors of the host that an operator of the host computed, and everything on real GPUs where
nothing was recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from devsan.probe.frames import Frame
from devsan.probe.places import place, place_in
from devsan.probe.statements import assigned_before, function_around, said_by
from devsan.probe.tensors import is_tensor
from devsan.probe.trails import event_at

_MOVES = ("to", "cuda", "cpu")


def made_by(core: Any, node: ast.AST, frame: Frame, device: str, function: str | None = None) -> Any | None:
    """Returns the event of the factory or the move that decides where the value of ``node`` is, or None.

    ``torch.stack(torch.meshgrid(torch.arange(n))).float()`` is where its factory is, as long as no tensor of a variable
    has a part in it.

    Args:
        core: ``devsan._core``.
        node: an expression of ``frame``'s file.
        frame: in whose scope its names are.
        device: where the value is.
        function: that ``node`` stands in, where it is not the frame's own.
    """
    call = _deciding(node, frame)
    if call is None:
        return None
    said = said_by(call, "")
    ends = (call.lineno, call.end_lineno, call.col_offset, call.end_col_offset)
    name = function if function is not None else frame.function
    here = place_in(core, frame.file, name, *ends)
    return event_at(core, [here], device, f"aten::{said.call}", is_move=not said.is_factory)


def _deciding(node: ast.AST, frame: Frame) -> ast.Call | None:
    if isinstance(node, ast.Call):
        said = said_by(node)
        if said.is_factory or (said.call in _MOVES and isinstance(node.func, ast.Attribute)):
            return node
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    factories = [each for each in calls if said_by(each).is_factory]
    moved = any(said_by(each).call in _MOVES for each in calls)
    names = [each for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute))]
    if not factories or moved or any(is_tensor(frame.scope.value(each)) for each in names):
        return None
    return factories[0]


def assigned(core: Any, name: str, frame: Frame, device: str) -> Any | None:
    """Returns the event of the last factory or move whose result ``name`` got before the failing line, or None."""
    value = last_value(name, frame)
    if value is not None:
        return made_by(core, value, frame, device)
    outer, inside, _ = frame.function.rpartition(".<locals>.")
    if name not in frame.code.co_freevars or not inside:
        return None
    value = assigned_before(frame.file, frame.code.co_firstlineno, name)  # of the function around this one
    return made_by(core, value, frame, device, outer) if value is not None else None


def last_value(name: str, frame: Frame) -> ast.expr | None:
    """Returns what the function gave ``name`` last before the failing line."""
    last: ast.expr | None = None
    for target, value in _assignments(frame):
        if value.lineno < frame.line and ast.unparse(target) == name:
            last = value
    return last


def assigned_elsewhere(core: Any, name: str, frame: Frame, device: str) -> Any | None:
    """Returns the event of the factory behind ``self.x = torch.zeros(...)`` of the same file, or behind a global."""
    whole = function_around(frame.file, 1)
    for function, node in _statements(whole, "") if whole is not None else ():
        if not isinstance(node, ast.Assign) or (not name.startswith("self.") and function != ""):
            continue
        if any(ast.unparse(target) == name.partition("[")[0] for target in node.targets):
            event = made_by(core, node.value, frame, device, function or "<module>")
            if event is not None:
                return event
    return None


def _statements(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """Yields the statements of a file with the name of the function that each is in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _statements(child, f"{function}.{child.name}" if function else child.name)
        elif isinstance(child, ast.stmt):
            yield function, child
            yield from _statements(child, function)


def copies_of(core: Any, name: str, frame: Frame) -> Iterator[Any]:
    """Yields an event for each copy of ``name`` that the function makes before the failing line: ``y = x.to(d)``."""
    tree = function_around(frame.file, frame.line)
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, (ast.Expr, ast.Assign)) or node.lineno >= frame.line:
            continue
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr not in _MOVES or ast.unparse(call.func.value) != name:
            continue
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == name for target in node.targets):
            continue
        here = place(core, frame.code, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        said = said_by(call)
        event = event_at(core, [here], "", f"Tensor.{said.call}", is_move=True)
        event.device_text = said.device or ""
        event.discarded = isinstance(node, ast.Expr)
        yield event


def from_loader(core: Any, name: str, frame: Frame) -> Any | None:
    """Returns the event of the loop over a DataLoader that gave ``name``, or None."""
    for target, source in _loops(frame):
        names = {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
        kinds = {base.__name__ for base in type(frame.scope.value(source)).__mro__}
        if name in names and "DataLoader" in kinds:
            here = place(core, frame.code, source.lineno, source.end_lineno, source.col_offset, source.end_col_offset)
            owner = core.Owner(name="DataLoader", mechanism="DataLoader", where=here)
            return core.Event(kind=core.EventKind.LOADED, device="cpu", op="DataLoader", owner=owner, stack=[here])
    return None


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
    for node in ast.walk(tree) if tree is not None else ():
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
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assign):
            found.extend((node.lineno, target, node.value) for target in node.targets)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            found.append((node.lineno, node.target, node.value))
    yield from ((target, value) for _, target, value in sorted(found, key=lambda each: each[0]))
