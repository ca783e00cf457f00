"""The variable that an expression is made from without leaving its device."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.inference import NOT_TENSORS
from devsan.introspect.frames.tensors import is_tensor, placement_of
from devsan.introspect.frames.values import own_dict

_LEAVES = NOT_TENSORS | {"to", "cuda", "cpu", "type", "pin_memory"}  # methods whose result may be elsewhere

_VIEWS = frozenset({"view", "view_as", "t", "transpose", "permute", "unsqueeze", "squeeze", "expand", "expand_as",
                    "narrow", "select", "detach", "swapaxes", "movedim", "unflatten", "diagonal"})  # fmt: skip


def is_view_of(node: ast.AST, root: ast.AST) -> bool:
    """Returns whether ``node``, which begins with ``root``, is surely a view of it: ``x.view(-1)``, ``x[1:]``."""
    while node is not root:
        called = node.func if isinstance(node, ast.Call) else None
        viewed = isinstance(called, ast.Attribute) and called.attr in _VIEWS
        cut = isinstance(node, ast.Subscript) and _is_cut(node.slice)
        if not (viewed or cut or (isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "data"))):
            return False
        node = called.value if viewed else node.value  # type: ignore[union-attr, attr-defined]
    return True


def _is_cut(index: ast.expr) -> bool:
    """Whether a subscript selects without a tensor or a list of indices."""
    each = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(isinstance(one, (ast.Slice, ast.Constant, ast.UnaryOp)) for one in each)


def root_of(node: ast.AST) -> ast.AST | None:
    """Returns the variable that a chain of methods begins with while the device is kept: ``labels[1:].view(-1)``."""
    current = node
    while True:
        if isinstance(current, ast.Call) and isinstance(current.func, ast.Attribute):
            if current.func.attr in _LEAVES:
                return None
            current = current.func.value
        elif isinstance(current, ast.Subscript) or (
            isinstance(current, ast.Attribute) and current.attr in ("T", "mT", "data")
        ):
            current = current.value
        else:
            break
    return current if current is not node and isinstance(current, (ast.Name, ast.Attribute)) else None


def held_in(node: ast.AST, frame: Frame) -> ast.AST | None:
    """Returns the tensor that a chain of selections and methods begins with: ``self.anchors[level]`` of
    ``self.anchors[level][:, None].flatten(1)``, where what holds it is no tensor."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in _LEAVES:
            node = node.func.value
        else:
            return None
        if isinstance(node, ast.Subscript) and is_tensor(frame.scope.value(node)):
            return node


def only_tensor(node: ast.AST, frame: Frame) -> ast.AST | None:
    """Returns the only variable of an arithmetic expression that holds a tensor: ``noise`` of ``0.1 * noise``."""
    if not isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return None
    found = []
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (ast.Name, ast.Attribute)) and is_tensor(frame.scope.value(each)):
            found.append(each)
        elif isinstance(each, ast.Call):
            return None
        else:
            waiting.extend(ast.iter_child_nodes(each))
    return found[0] if len(found) == 1 else None


def tensor_in(node: ast.AST, frame: Frame, device: str) -> ast.AST | None:
    """Returns the first variable in an expression that is a tensor on ``device``: ``a`` of ``a @ a.t()``."""
    held = [each for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute))]
    for each in sorted(held, key=_place):
        value = frame.scope.value(each)
        placed = placement_of(value) if is_tensor(value) else None
        if placed is not None and placed.device == device and placed.shape != ():
            return each
    return None


def held_as(value: object, frames: Sequence[Frame]) -> tuple[int, ast.expr] | None:
    """Returns the variable of the program's own frames that holds ``value``, or the attribute of one; or None.

    The innermost frame's is taken, with its number; a variable before an attribute.
    """
    for number in reversed(range(len(frames))):
        held = list(frames[number].scope.locals.items()) if frames[number].whose is Whose.PROGRAM else []
        for name, known in held:
            if known is value:
                return number, ast.Name(name, ast.Load())
        for name, known in held:
            for attribute, part in list(own_dict(known).items()):
                if part is value:
                    return number, ast.Attribute(ast.Name(name, ast.Load()), attribute, ast.Load())
    return None


def first_name(node: ast.AST | None) -> str | None:
    """Returns the name that an expression begins with: ``self`` of ``self.a[0]``."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _place(node: ast.expr) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)  # a name that was made up has none
