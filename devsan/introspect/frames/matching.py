"""Which expression of a call is which operand of the operator behind it.

The core knows the operands by name, device, dtype and shape; the source knows expressions. torch reorders, reshapes
and renames on the way (``F.linear(x, w, b)`` is ``addmm(b, x, w.t())``), so evidence is added up: a device that
differs rules a pair out, everything else only speaks for it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from math import prod
from typing import TYPE_CHECKING

from devsan.diagnostics.placement import Placement
from devsan.introspect.frames.expressions import Expression
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.tensors import is_tensor, memory_of, same_memory
from devsan.introspect.frames.values import MISSING, Step

if TYPE_CHECKING:
    from devsan.introspect.frames.tracking import Tracked

_SAME_TENSOR, _SAME_MEMORY, _SAME_NAME, _SAME_DEVICE, _SAME_SHAPE = 100, 60, 40, 10, 6
_SAME_WORD, _SAME_DTYPE, _SAME_PLACE, _SAME_COUNT = 5, 4, 3, 2
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def match(
    operands: Sequence[Tracked], expressions: Sequence[Expression], frame: Frame, strict: bool = False
) -> list[tuple[Tracked, Expression]]:
    """Pairs operands with expressions of ``frame``, best evidence first; each is used once.

    Args:
        operands: what is looked for.
        expressions: where it may be.
        frame: whose expressions they are.
        strict: accept only the same tensor, or, for an operand that no inner frame shows, one that agrees in
            everything. For frames further out, where the operand need not occur at all.
    """
    scored = []
    for first, operand in enumerate(operands):
        for second, expression in enumerate(expressions):
            score = _strict_score(operand, expression, frame) if strict else _score(operand, expression, frame, second)
            if score > 0:
                scored.append((-score, first, second))
    if strict:
        scored += _only_there(operands, expressions, frame)
    pairs: dict[int, int] = {}
    for _, first, second in sorted(scored):
        if first not in pairs and second not in pairs.values():
            pairs[first] = second
    found = [(operands[first], expressions[second]) for first, second in pairs.items()]
    if not strict:
        left = [operand for first, operand in enumerate(operands) if first not in pairs]
        unknown = [
            expression
            for second, expression in enumerate(expressions)
            if second not in pairs.values() and expression.placement(frame) is None
        ]
        found += _pair_the_rest(left, unknown) or _moved_since(left, expressions, frame, pairs.values())
    return found


def _only_there(
    operands: Sequence[Tracked], expressions: Sequence[Expression], frame: Frame
) -> list[tuple[int, int, int]]:
    """An operand that is known by its device alone is the only expression that is there."""
    found = []
    for first, operand in enumerate(operands):
        wanted = operand.placement
        if operand.at or wanted is None or wanted.dtype is not None or wanted.shape is not None:
            continue
        seen = [expression.placement(frame) for expression in expressions]
        there = [second for second, each in enumerate(seen) if each is not None and each.is_on(wanted.device)]
        if len(there) == 1:
            found.append((-1, first, there[0]))
    return found


def _moved_since(
    left: list[Tracked], expressions: Sequence[Expression], frame: Frame, taken: Collection[int]
) -> list[tuple[Tracked, Expression]]:
    """Pairs by shape what is elsewhere now: Lightning takes its model off the GPU while the exception passes.

    The one operand that is left is the one expression that is left, where its text does not tell a shape.
    """
    found = []
    for operand in left:
        fitting, unknown = [], []
        for number, expression in enumerate(expressions):
            wanted, seen = operand.placement, expression.placement(frame)
            if number in taken or wanted is None or seen is None or seen.is_on(wanted.device):
                continue
            if seen.shape is None:
                unknown.append(expression)
            elif wanted.shape and sorted(wanted.shape) == sorted(seen.shape) and wanted.dtype == seen.dtype:
                fitting.append(expression)
        if not fitting and len(left) == 1 and len(expressions) - len(taken) == 1:
            fitting = unknown
        if len(fitting) == 1:
            found.append((operand, fitting[0]))
    return found


def _pair_the_rest(left: list[Tracked], unknown: list[Expression]) -> list[tuple[Tracked, Expression]]:
    """One expression of unknown value is left: it is the operand that is left, or the list that holds those left."""
    if len(unknown) != 1:
        return []
    if left and all(_is_element(operand) for operand in left):
        node, path = unknown[0].node, unknown[0].path
        return [(operand, Expression(node, (*path, Step(_index(operand))), operand.role)) for operand in left]
    comprehension = isinstance(unknown[0].node, _COMPREHENSIONS)
    return [(left[0], unknown[0])] if len(left) == 1 and not comprehension else []


def _is_element(operand: Tracked) -> bool:
    return operand.role is not None and operand.role.endswith("]")


def _index(operand: Tracked) -> int:
    return int((operand.role or "").partition("[")[2].rstrip("]"))


def _score(operand: Tracked, expression: Expression, frame: Frame, place: int) -> int:
    score = _SAME_WORD if operand.role == _last_word(expression) else 0
    value = expression.value(frame)
    if operand.value is not MISSING and value is operand.value:
        score += _SAME_TENSOR
    elif operand.storage and is_tensor(value) and memory_of(value) == operand.storage:
        score += _SAME_MEMORY
    wanted, seen = operand.placement, expression.placement(frame)
    if wanted is not None and seen is not None:
        if not seen.is_on(wanted.device):
            return 0
        score += _SAME_DEVICE + _likeness(wanted, seen)
    comprehension = isinstance(expression.node, _COMPREHENSIONS)
    if comprehension or (_is_element(operand) and seen is None and not _is_in_list(expression)):
        return 0  # the whole list, perhaps: see _pair_the_rest
    if operand.role is not None and operand.role == expression.role:
        score += _SAME_NAME
    elif _is_element(operand) and _is_in_list(expression):  # tensors[2] and outs[2]
        score += _SAME_NAME if str(operand.role).endswith(str(expression.role)) else 0
    elif operand.place == place:
        score += _SAME_PLACE
    return score


def _is_in_list(expression: Expression) -> bool:
    return isinstance(expression.role, str) and expression.role.endswith("]")


def _last_word(expression: Expression) -> str | None:
    """Returns what a variable or an attribute is called: ``weight`` of ``self.weight``."""
    if expression.path:
        return None
    if isinstance(expression.node, ast.Attribute):
        return expression.node.attr
    return expression.node.id if isinstance(expression.node, ast.Name) else None


def _strict_score(operand: Tracked, expression: Expression, frame: Frame) -> int:
    value = expression.value(frame)
    if operand.value is not MISSING and is_tensor(value) and same_memory(operand.value, value):
        return _SAME_TENSOR
    if is_tensor(value) and operand.storage and not operand.at:  # what no inner frame shows is known by its memory
        return _SAME_MEMORY if memory_of(value) == operand.storage else 0
    if operand.at:  # it has a name further in; a tensor that looks the same here is another one
        return 0
    wanted, seen = operand.placement, expression.placement(frame)
    return 1 if wanted is not None and wanted.dtype is not None and wanted == seen else 0


def _likeness(wanted: Placement, seen: Placement) -> int:
    score = _SAME_DTYPE if wanted.dtype is not None and wanted.dtype == seen.dtype else 0
    if wanted.shape is None or seen.shape is None:
        return score
    if wanted.shape == seen.shape:
        return score + _SAME_SHAPE
    return score + (_SAME_COUNT if prod(wanted.shape) == prod(seen.shape) else 0)
