"""The operands of an expression: which pieces of the source hold the tensors that an operation is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import cast

from devsan.diagnostics.placement import Placement
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.inference import infer, is_number
from devsan.introspect.frames.module_tree import tensors_below
from devsan.introspect.frames.tensors import is_module, is_tensor, placement_of
from devsan.introspect.frames.values import MISSING, Step, elements_of, is_a, part

_MANY = 256  # elements of one list that are looked at


@dataclass(frozen=True)
class Expression:
    """A piece of source, and the part of its value that is meant: ``outs`` and ``[1]``.

    Attributes:
        node: the piece of source.
        path: steps from its value to what is meant.
        role: the keyword or the position under which the call gets it; the callee's name for it when that is known.
    """

    node: ast.AST
    path: tuple[Step, ...] = ()
    role: str | int | None = None

    def plain(self) -> Expression:
        """Returns the same without steps into what is written out: ``batch`` for ``(batch, mask)[0]``."""
        node, path = self.node, self.path
        while path and isinstance(node, (ast.Tuple, ast.List)) and type(path[0].key) is int:
            here = node.elts[: path[0].key + 1]
            if len(here) <= path[0].key or any(isinstance(each, ast.Starred) for each in here):
                break
            node, path = here[-1], path[1:]
        return Expression(node, path, self.role)

    def value(self, frame: Frame) -> object:
        """Returns what it stands for in ``frame``, or MISSING."""
        found = frame.scope.value(self.node)
        for step in self.path:
            found = part(found, step)
        return found

    def placement(self, frame: Frame) -> Placement | None:
        """Returns where the tensor is; from what surrounds it when it is not kept in a variable; or None."""
        value = self.value(frame)
        if is_tensor(value):
            return placement_of(value)
        return None if self.path or value is not MISSING else infer(self.node, frame.scope)

    def text(self, frame: Frame) -> str:
        """Returns how the program would write it."""
        return frame.segment(self.node) + "".join(map(str, self.path))


def operands_at(frame: Frame) -> list[Expression]:
    """Returns the pieces of the failing expression of ``frame`` that are, or may be, tensors, in a call's order."""
    if isinstance(frame.node, ast.Raise):
        return _named_in(frame.node, frame)
    found: list[Expression] = []
    for expression in arguments_of(frame):
        found.extend(_tensors_in(expression, frame))
    return found


def _named_in(statement: ast.Raise, frame: Frame) -> list[Expression]:
    """Returns the tensors that a ``raise`` speaks of (``raise ValueError(f"... {loss.device}")``), or had at hand."""
    found: dict[int, Expression] = {}
    for node in ast.walk(statement):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            value = frame.scope.value(node)
            if is_tensor(value):
                found.setdefault(id(value), Expression(node, role=frame.segment(node)))
    if not found and frame.code.co_name != "<module>":
        for name, value in list(frame.scope.locals.items())[:_MANY]:
            if is_tensor(value):
                found.setdefault(id(value), Expression(ast.Name(name, ast.Load()), role=name))
    return list(found.values())


def arguments_of(frame: Frame) -> list[Expression]:
    """Returns what the failing expression of ``frame`` works on: a call's arguments or an operator's operands.

    A method's object comes first. ``*args`` and ``**kwargs`` are taken apart where their value is known.
    """
    node = frame.node
    if isinstance(node, ast.Call):
        return list(_call_arguments(node, frame))
    if isinstance(node, ast.Subscript):
        return _selection(node)
    return [Expression(piece, role=place) for place, piece in enumerate(_operator_pieces(node))]


def _selection(node: ast.Subscript) -> list[Expression]:
    """What ``aten::index`` and ``aten::index_put_`` work on, by their names for it."""
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    pieces = [Expression(node.value, role="self")]
    pieces += [
        Expression(each, role=f"indices[{place}]")
        for place, each in enumerate(indices) if not isinstance(each, ast.Slice)
    ]  # fmt: skip
    stored = getattr(node, "parent", None)  # executing keeps parents
    if isinstance(node.ctx, ast.Store) and isinstance(stored, (ast.Assign, ast.AugAssign)):
        pieces.append(Expression(stored.value, role="values"))
    return pieces


def _operator_pieces(node: ast.AST | None) -> list[ast.AST]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Attribute):
        return [node.value]
    if isinstance(node, (ast.Assign, ast.Expr, ast.Return, ast.AnnAssign)):  # no smaller piece is sure
        value = node.value
        return _operator_pieces(value) if isinstance(value, (ast.BinOp, ast.Compare, ast.UnaryOp)) else []
    return []


def _call_arguments(call: ast.Call, frame: Frame) -> Iterator[Expression]:
    place = 0
    if isinstance(call.func, ast.Attribute) and _is_method_of_tensor(call.func.value, frame):
        yield Expression(call.func.value, role="self")
        place = 1
    for argument in call.args:
        if not isinstance(argument, ast.Starred):
            yield Expression(argument, role=place)
            place += 1
            continue
        values = frame.scope.value(argument.value)
        if type(values) in (list, tuple):
            for index in range(len(cast(tuple[object, ...], values))):
                yield Expression(argument.value, (Step(index),), role=place)
                place += 1
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield Expression(keyword.value, role=keyword.arg)
            continue
        values = elements_of(frame.scope.value(keyword.value))
        if type(values) is dict:
            for name in values:
                if isinstance(name, str):
                    yield Expression(keyword.value, (Step(name),), role=name)


def _is_method_of_tensor(receiver: ast.AST, frame: Frame) -> bool:
    value = frame.scope.value(receiver)
    if value is not MISSING:
        return is_tensor(value)
    made_here = isinstance(receiver, (ast.Call, ast.BinOp, ast.Subscript))  # f(x).add_(y): nobody kept f(x)
    if isinstance(receiver, ast.Attribute):  # a property: batch.x.add_(y)
        holder = frame.scope.value(receiver.value)
        computed = isinstance(receiver.value, (ast.Call, ast.Subscript))  # find(name).weight.add_(y)
        made_here = computed if holder is MISSING else not isinstance(holder, (type, ModuleType))
    return made_here or infer(receiver, frame.scope) is not None


def _tensors_in(expression: Expression, frame: Frame) -> Iterator[Expression]:
    """Yields ``expression`` when it can be a tensor, or its elements when it is a container."""
    if isinstance(expression.node, (ast.List, ast.Tuple)) and not expression.path:
        for index, element in enumerate(expression.node.elts):
            yield from _tensors_in(Expression(element, role=f"{_as_text(expression.role)}[{index}]"), frame)
        return
    value = elements_of(expression.value(frame))
    if is_tensor(value):
        yield expression
    elif is_a(value, list, tuple):
        elements = list.__iter__ if is_a(value, list) else tuple.__iter__
        for index, element in enumerate(islice(elements(value), _MANY)):  # type: ignore[arg-type]
            if is_tensor(element):
                role = f"{_as_text(expression.role)}[{index}]"
                yield Expression(expression.node, (*expression.path, Step(index)), role)
    elif is_a(value, dict):
        for key, held in islice(list(dict.items(cast(dict[object, object], value))), _MANY):
            if is_tensor(held):
                yield Expression(expression.node, (*expression.path, Step(key)), str(key))
    elif is_module(value) and is_check(frame.node):
        yield from _of_module(expression, value)
    elif value is MISSING and not is_number(expression.node, frame.scope):
        yield expression


def is_check(node: ast.AST | None) -> bool:
    """Returns whether ``node`` is ``devsan.check(...)``, which looks into modules."""
    function = node.func if isinstance(node, ast.Call) else None
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("check", "check_tensors_device")


def _of_module(expression: Expression, module: object) -> Iterator[Expression]:
    """The first parameter or buffer of a module on each device."""
    seen: set[str] = set()
    for path, held in tensors_below(module):
        placed = placement_of(held)
        if placed is not None and placed.device not in seen:
            seen.add(placed.device)
            steps = (Step(name, is_attribute=True) for name in path)
            yield Expression(expression.node, (*expression.path, *steps), path[-1])


def _as_text(role: str | int | None) -> str:
    return role if isinstance(role, str) else ""
