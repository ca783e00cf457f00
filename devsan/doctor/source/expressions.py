"""What each kind of expression is."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from devsan.doctor.source import (
    arithmetic,
    calls,
    conditions,
    containers,
    device_join,
    loops,
    members,
)
from devsan.doctor.source.definitions import Function
from devsan.doctor.source.events import TensorInput
from devsan.doctor.source.objects import element_of
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import (
    NUMBER,
    UNKNOWN,
    Const,
    Sequence,
    Table,
    Tensor,
    Value,
    join_all,
    join_values,
)

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter


_LONGEST = 256  # elements of a list that is written as a product


def evaluate(run: Interpreter, node: ast.expr, scope: Scope) -> Value:
    """Returns what ``node`` is."""
    run.step()
    handler = _HANDLERS.get(type(node))
    if handler is not None:
        return handler(run, node, scope)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            evaluate(run, child, scope)
    return UNKNOWN


def _constant(run: Interpreter, node: ast.Constant, scope: Scope) -> Value:
    return Const(node.value)


def _name(run: Interpreter, node: ast.Name, scope: Scope) -> Value:
    return scope.read(node.id)


def _attribute(run: Interpreter, node: ast.Attribute, scope: Scope) -> Value:
    return members.read(run, evaluate(run, node.value, scope), node, scope)


def _call(run: Interpreter, node: ast.Call, scope: Scope) -> Value:
    return calls.call(run, node, scope)


def _binary(run: Interpreter, node: ast.BinOp, scope: Scope) -> Value:
    left, right = evaluate(run, node.left, scope), evaluate(run, node.right, scope)
    if isinstance(left, Sequence) and isinstance(right, Sequence) and isinstance(node.op, ast.Add):
        if left.items is None or right.items is None:
            return Sequence(None, join_values(left.any(), right.any()))
        return Sequence(left.items + right.items)
    if isinstance(left, Sequence) and isinstance(node.op, ast.Mult):
        count = right.value if isinstance(right, Const) else None
        if left.items is not None and type(count) is int and 0 <= count * len(left.items) <= _LONGEST:
            return Sequence(left.items * count)
        return Sequence(None, left.any())
    if isinstance(left, Table) and isinstance(right, Table) and isinstance(node.op, ast.BitOr):
        return Table(tuple((dict(left.items) | dict(right.items)).items()), left.whole and right.whole)
    if isinstance(left, Const) and isinstance(left.value, str) and isinstance(node.op, ast.Add):
        return arithmetic.read_text(left.value + arithmetic.slot(right), run.source.shown(node))
    if isinstance(left, Const) and isinstance(left.value, str) and isinstance(node.op, ast.Mod):
        return _formatted(run, node, left.value, right)
    if isinstance(left, Const) and isinstance(right, Const):
        return arithmetic.binary(node.op, left, right)
    return device_join.meet(
        run, node, [TensorInput(each, at) for each, at in _tensors((left, node.left), (right, node.right))]
    )


def augmented(run: Interpreter, node: ast.AugAssign, scope: Scope) -> Value:
    """Returns what the target of ``target += value`` is afterwards."""
    left, right = evaluate(run, node.target, scope), evaluate(run, node.value, scope)
    if isinstance(left, Sequence):
        return Sequence(None, join_values(left.any(), element_of(right)))
    if isinstance(left, Const) and isinstance(right, Const):
        return NUMBER if run.uncounted else arithmetic.binary(node.op, left, right)
    return device_join.meet(
        run, node, [TensorInput(each, at) for each, at in _tensors((left, node.target), (right, node.value))]
    )


def _tensors(*pairs: tuple[Value, ast.AST]) -> list[tuple[Tensor, ast.AST]]:
    found = []
    for value, node in pairs:
        tensor = device_join.as_tensor(value)
        if tensor is not None:
            found.append((tensor, node))
    return found


def _compare(run: Interpreter, node: ast.Compare, scope: Scope) -> Value:
    nodes = [node.left, *node.comparators]
    values = [evaluate(run, each, scope) for each in nodes]
    if len(values) == 2 and not any(isinstance(each, Tensor) for each in values):
        known = arithmetic.compare(node.ops[0], values[0], values[1])
        if known is not UNKNOWN:
            return known
    if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
        return UNKNOWN
    pairs = list(zip(values, nodes, strict=True))
    return device_join.meet(run, node, [TensorInput(each, at) for each, at in _tensors(*pairs)])


def _boolean(run: Interpreter, node: ast.BoolOp, scope: Scope) -> Value:
    decides = isinstance(node.op, ast.Or)
    left: list[Value] = []
    for each in node.values:
        if left:
            with run.region():
                value = evaluate(run, each, scope)
        else:
            value = evaluate(run, each, scope)
        known = arithmetic.truth(value)
        if known is decides:
            return join_all([*left, value])
        if known is None or each is node.values[-1]:
            left.append(value)
    return join_all(left)


def _unary(run: Interpreter, node: ast.UnaryOp, scope: Scope) -> Value:
    return arithmetic.unary(node.op, evaluate(run, node.operand, scope))


def _choice(run: Interpreter, node: ast.IfExp, scope: Scope) -> Value:
    known = conditions.truth(run, node.test, scope)
    if known is not None:
        return evaluate(run, node.body if known else node.orelse, scope)
    with run.region():
        one = evaluate(run, node.body, scope)
    with run.region():
        other = evaluate(run, node.orelse, scope)
    if conditions.asks_for_ranks(run, node.test):
        return one if one == other else UNKNOWN
    return join_values(one, other)


def _text(run: Interpreter, node: ast.JoinedStr, scope: Scope) -> Value:
    parts = []
    for each in node.values:
        if isinstance(each, ast.Constant):
            parts.append(str(each.value))
        elif isinstance(each, ast.FormattedValue):
            parts.append(arithmetic.slot(evaluate(run, each.value, scope)))
    return arithmetic.read_text("".join(parts), run.source.shown(node))


def _formatted(run: Interpreter, node: ast.BinOp, text: str, given: Value) -> Value:
    values = given.items if isinstance(given, Sequence) and given.items is not None else (given,)
    if text.count("%d") + text.count("%s") != len(values) or text.count("%") != len(values):
        return arithmetic.read_text(f"{text}\0", run.source.shown(node))
    for value in values:
        text = text.replace("%d", "%s").replace("%s", arithmetic.slot(value), 1)
    return arithmetic.read_text(text, run.source.shown(node))


def _named(run: Interpreter, node: ast.NamedExpr, scope: Scope) -> Value:
    value = evaluate(run, node.value, scope)
    scope.write(node.target.id, value)
    return value


def _lambda(run: Interpreter, node: ast.Lambda, scope: Scope) -> Value:
    return Function(node, scope)


def _passed(run: Interpreter, node: ast.Await | ast.Starred, scope: Scope) -> Value:
    return evaluate(run, node.value, scope)


def _yield(run: Interpreter, node: ast.Yield, scope: Scope) -> Value:
    value = UNKNOWN if node.value is None else evaluate(run, node.value, scope)
    if run.frames:
        run.frames[-1].yielded.append(value)
    return UNKNOWN


_HANDLERS: dict[type, Callable[..., Value]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Call: _call,
    ast.List: containers.read_list, ast.Tuple: containers.read_list, ast.Set: containers.read_list,
    ast.Dict: containers.read_dict, ast.ListComp: loops.comprehension,
    ast.SetComp: loops.comprehension, ast.GeneratorExp: loops.comprehension, ast.DictComp: loops.comprehension,
    ast.Subscript: containers.read_item, ast.BinOp: _binary,
    ast.Compare: _compare, ast.BoolOp: _boolean, ast.UnaryOp: _unary, ast.IfExp: _choice, ast.JoinedStr: _text,
    ast.NamedExpr: _named, ast.Lambda: _lambda, ast.Await: _passed, ast.Starred: _passed, ast.Yield: _yield,
}  # fmt: skip
