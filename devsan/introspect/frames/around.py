"""The other tensors of a failing statement: where they are tells which of the operands is in the wrong place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.torch_names import MOVES
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.inference import NOT_TENSORS
from devsan.introspect.frames.tensors import is_tensor, placement_of

_READ = (ast.Name, ast.Attribute, ast.Subscript)


def devices_around(frame: Frame) -> list[str]:
    """Returns the devices of the tensors that the statement of ``frame`` names outside of the expression that failed.

    ``row`` and ``out`` of ``out.index_add_(0, row, result * weight)``, where the product failed; not once more what the
    product is made of itself. One value on the CPU goes with tensors of any GPU, and says nothing.
    """
    failed = frame.node
    if failed is None or isinstance(failed, ast.stmt):
        return []
    found = []
    own = {id(frame.scope.value(node)) for node in ast.walk(failed) if isinstance(node, _READ)}
    for node in _named(_whole(failed), failed):
        value = frame.scope.value(node)
        placed = placement_of(value) if is_tensor(value) and id(value) not in own else None
        if placed is not None and (placed.shape or placed.device != "cpu"):
            found.append(placed.device)
    return found


def _whole(failed: ast.AST) -> ast.AST:
    """The statement around an expression; of one with a body, or of a definition, only the expression."""
    node = failed
    while (parent := getattr(node, "parent", None)) is not None:
        if isinstance(parent, ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return):
            return parent
        if isinstance(parent, ast.stmt | ast.Lambda | ast.comprehension | ast.ListComp | ast.GeneratorExp | ast.mod):
            return node
        node = parent
    return node


def _named(whole: ast.AST, failed: ast.AST) -> Iterator[ast.expr]:
    """The variables, attributes and elements in ``whole`` that are read or added to, but for those in ``failed``."""
    waiting = [whole]
    while waiting:
        node = waiting.pop()
        if node is failed:
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign):
            waiting += [node.value] if node.value is not None else []  # what it binds is bound afterwards
        elif isinstance(node, ast.IfExp) and _holds(node, failed):  # the other branch does not meet what failed
            waiting += [each for each in (node.test, node.body, node.orelse) if _holds(each, failed)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            moved = node.func.attr in MOVES or node.func.attr in NOT_TENSORS
            waiting += [*([] if moved else [node.func.value]), *node.args, *node.keywords]
        elif isinstance(node, _READ) and not _holds(node, failed):
            yield node
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _holds(node: ast.AST, failed: ast.AST) -> bool:
    return any(each is failed for each in ast.walk(node))
