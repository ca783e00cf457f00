"""Tests: what they decide, and what they ask for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devsan.doctor.source import arithmetic
from devsan.doctor.source.definitions import ClassValue, Function
from devsan.doctor.source.objects import Object
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import NONE, Device, Ref, Sequence, Table, Tensor, is_known

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter


# Values that are certainly not None.
_THERE = (Object, Function, ClassValue, Device, Sequence, Table)
_RANKISH = ("rank", "world", "ddp", "distributed", "dist", "deepspeed", "zero3", "fsdp", "device_count", "n_gpu")


def truth(run: Interpreter, node: ast.expr, scope: Scope) -> bool | None:
    """Returns whether a test holds; None where that depends on what is not known. Programs are checked with GPUs."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        known = truth(run, node.operand, scope)
        return None if known is None else not known
    if isinstance(node, ast.BoolOp):
        decides = isinstance(node.op, ast.Or)
        sides = []
        for each in node.values:
            sides.append(truth(run, each, scope))
            if sides[-1] is decides:
                return decides  # what stands behind is not asked
        return None if None in sides else not decides
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
        left, right = run.value(node.left, scope), run.value(node.comparators[0], scope)
        if right != NONE:
            return None
        if (
            left == NONE
            or is_known(left)
            or isinstance(left, _THERE)
            or (isinstance(left, Tensor) and not left.optional)
        ):
            return (left == NONE) == isinstance(node.ops[0], ast.Is)
        return None
    value = run.value(node, scope)
    named = isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == "__name__"
    if named and scope.read("__name__") == Ref("builtins.__name__"):
        return True
    return arithmetic.truth(value)


def compared_devices(test: ast.expr) -> list[ast.expr]:
    """Returns the expressions whose devices a test asks for."""
    found: list[ast.expr] = []
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute) and node.attr in ("device", "is_cuda", "is_cpu", "get_device"):
            found.append(node.value)
    return [node for node in found if isinstance(node, ast.Name | ast.Attribute)]


def asks_for_ranks(run: Interpreter, test: ast.expr) -> bool:
    """Returns whether a test asks for the rank, for the number of processes or of GPUs."""
    text = run.source.segment(test).lower()
    return any(word in text for word in _RANKISH)


def asked_for_none(test: ast.expr) -> list[str]:
    """Returns the names that a test compares with None."""
    return [
        node.left.id
        for node in ast.walk(test)
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and isinstance(node.ops[0], ast.Is)
        and isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
    ]  # fmt: skip
