"""Whose output a tensor is that has no name in the program: of a module inside of a container.

``nn.Sequential`` hands what one module returns to the next, under a variable of its own. The program has no name for
it; what made it has one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from devsan.introspect.frames.expressions import Expression
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.tensors import is_module
from devsan.introspect.frames.values import is_a
from devsan.introspect.models.models import members
from devsan.introspect.source.sources import nodes_in, tree_of

if TYPE_CHECKING:
    from devsan.introspect.frames.tracking import Tracked


def made_by_module(operand: Tracked, frames: Sequence[Frame]) -> str:
    """Returns the module whose output ``operand`` is, where torch hands it on and no name holds it; "" elsewhere."""
    if not operand.at:
        return ""
    outermost = min(operand.at)
    if frames[outermost].whose is not Whose.HIDDEN:
        return ""
    return output_of(operand.at[outermost], frames[outermost], frames[:outermost])


def output_of(at: Expression, frame: Frame, outer: Sequence[Frame]) -> str:
    """Returns the module that made what ``at`` stands for in ``frame``: "model[1] (ReLU)"; "" where that is not sure.

    Args:
        at: what a loop over modules gives to the next of them.
        frame: of the loop.
        outer: the frames around it, outermost first.
    """
    row = _row_of(at, frame)
    now = frame.scope.value(frame.node.func) if isinstance(frame.node, ast.Call) else None
    places = [number for number, each in enumerate(row) if each is now]
    if len(places) != 1 or places[0] == 0:
        return ""
    made_by = row[places[0] - 1]
    for text, root in _roots(outer):
        path = _path(root, row, places[0] - 1)
        if path is not None:
            return f"{text}{path} ({type(made_by).__name__})"
    return ""


def _row_of(at: Expression, frame: Frame) -> list[Any]:
    """The modules of the loop around the failing call, where each is given what the one before returned."""
    tree = tree_of(frame.code)
    call = frame.node
    if tree is None or at.path or not isinstance(at.node, ast.Name) or not isinstance(call, ast.Call):
        return []
    for loop in nodes_in(tree, ast.For):
        if not isinstance(loop.target, ast.Name):
            continue
        hands_on = any(
            isinstance(each, ast.Assign) and [ast.unparse(target) for target in each.targets] == [at.node.id]
            and ast.unparse(each.value) == ast.unparse(call) and each.value.lineno == call.lineno
            for each in loop.body
        )  # fmt: skip
        if hands_on and isinstance(call.func, ast.Name) and call.func.id == loop.target.id:
            return _modules_of(frame.scope.value(loop.iter))
    return []


def _modules_of(value: Any) -> list[Any]:
    if is_module(value):
        return [each for each in members(value, "_modules").values() if is_module(each)]
    return [each for each in list.__iter__(value) if is_module(each)] if is_a(value, list) else []


def _roots(outer: Sequence[Frame]) -> Iterator[tuple[str, Any]]:
    """The modules that the program's innermost frames know by a name: what is called, what is given, variables."""
    for frame in reversed(outer):
        if frame.whose is not Whose.PROGRAM:
            continue
        pieces = [frame.node.func, *frame.node.args] if isinstance(frame.node, ast.Call) else []
        for piece in pieces:
            value = frame.scope.value(piece)
            if is_module(value):
                yield frame.segment(piece), value
        for name, value in list(frame.scope.locals.items()):
            if is_module(value):
                yield name, value


def _path(root: Any, row: Sequence[Any], number: int) -> str | None:
    """How ``row[number]`` is reached from ``root``: "[1]", ".body[0]"; the whole row has to be there, in order."""
    waiting = [("", root)]
    seen: set[int] = set()
    while waiting:
        path, module = waiting.pop(0)
        if id(module) in seen:
            continue
        seen.add(id(module))
        children = [(name, each) for name, each in members(module, "_modules").items() if is_module(each)]
        if [id(each) for _, each in children] == [id(each) for each in row]:
            return path + _step(children[number][0])
        waiting += [(path + _step(name), each) for name, each in children]
    return None


def _step(name: str) -> str:
    return f"[{name}]" if name.isdigit() else f".{name}"
