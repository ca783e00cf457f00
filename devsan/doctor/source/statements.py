"""What each kind of statement does. A handler returns whether the path ends with it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import (
    calls,
    classes,
    conditions,
    environment,
    expressions,
    loops,
    memory,
    torch_calls,
)
from devsan.doctor.source.definitions import ClassValue, Function
from devsan.doctor.source.places import INPUTS, NOWHERE
from devsan.doctor.source.scope import Scope, join_names
from devsan.doctor.source.values import Ref, Tensor

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter

_BROAD = {"Exception", "BaseException", "RuntimeError", "ValueError", "NotImplementedError"}


def execute(run: Interpreter, node: ast.stmt, scope: Scope) -> bool:
    """Follows a statement."""
    run.step()
    handler = _HANDLERS.get(type(node))
    return bool(handler(run, node, scope)) if handler is not None else False


def _expression(run: Interpreter, node: ast.Expr, scope: Scope) -> None:
    value = run.value(node.value, scope)
    if isinstance(node.value, ast.Call):
        calls.discard(run, node.value, value, scope)


def _assignment(run: Interpreter, node: ast.Assign, scope: Scope) -> None:
    value = run.value(node.value, scope)
    for target in node.targets:
        run.assign(target, value, scope)


def _annotated(run: Interpreter, node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        run.assign(node.target, run.value(node.value, scope), scope)


def _augmented(run: Interpreter, node: ast.AugAssign, scope: Scope) -> None:
    value = expressions.augmented(run, node, scope)
    if not isinstance(node.target, ast.Subscript):
        run.assign(node.target, value, scope)


def _return(run: Interpreter, node: ast.Return, scope: Scope) -> bool:
    value = run.value(node.value, scope)
    if run.frames:
        run.frames[-1].returned.append(value)
    run.leaving = "return"
    return True


def _leave(run: Interpreter, node: ast.Raise | ast.Break | ast.Continue, scope: Scope) -> bool:
    run.leaving = type(node).__name__.lower()
    return True


def _if(run: Interpreter, node: ast.If, scope: Scope) -> bool:
    known = conditions.truth(run, node.test, scope)
    if known and run.owner is not None and isinstance(node.body[-1], ast.Raise):
        # A module that refuses to work without an input is given it.
        for name in conditions.asked_for_none(node.test):
            scope.write(name, Tensor(INPUTS, None, how="given"))
        return run.block(node.orelse, scope)
    if known is not None:
        with run.under(node):
            return run.block(node.body if known else node.orelse, scope)
    if memory.is_there(run, node, scope):
        return False
    compared = conditions.compared_devices(node.test)
    _forget(run, compared, scope)
    ranked = conditions.asks_for_ranks(run, node.test)
    run.guards += ranked
    with run.under(node):
        ended = run.both(node.body, node.orelse, scope)
    # What follows ``if rank != 0: return`` is guarded as well, to the end of its function.
    if ranked and not any(isinstance(each, ast.Return | ast.Continue) for each in node.body):
        run.guards -= 1
    _forget(run, compared, scope)
    return ended


def _forget(run: Interpreter, nodes: Sequence[ast.expr], scope: Scope) -> None:
    """The program itself asks where these are: whatever it does then is on purpose."""
    for node in nodes:
        value = run.value(node, scope)
        if isinstance(value, Tensor):
            run.assign(node, replace(value, where=NOWHERE), scope)


def _try(run: Interpreter, node: ast.Try, scope: Scope) -> bool:
    before, process = dict(scope.names), run.process
    broad = any(_is_broad(handler.type) for handler in node.handlers)
    run.forgiving += broad
    ended = run.block(node.body, scope)
    run.forgiving -= broad
    if not ended:
        ended = run.block(node.orelse, scope)
    for handler in node.handlers:
        names, done = scope.names, run.process
        scope.names, run.process = join_names(before, names), process.joined(done)
        with run.region():
            handler_ends = run.block(handler.body, scope)
        if handler_ends:
            scope.names, run.process = names, done
        elif not ended:
            scope.names, run.process = join_names(names, scope.names), done.joined(run.process)
    return run.block(node.finalbody, scope) or (ended and not node.handlers)


def _with(run: Interpreter, node: ast.With | ast.AsyncWith, scope: Scope) -> bool:
    before = run.process
    for item in node.items:
        value = run.value(item.context_expr, scope)
        torch_calls.enter(run, item.context_expr, value, scope)
        if item.optional_vars is not None:
            run.assign(item.optional_vars, value, scope)
    ended = run.block(node.body, scope)
    run.process = replace(run.process, default=before.default, current=before.current)
    return ended


def _match(run: Interpreter, node: ast.Match, scope: Scope) -> None:
    run.value(node.subject, scope)
    for case in node.cases:
        run.both(case.body, [], scope)


def _delete(run: Interpreter, node: ast.Delete, scope: Scope) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            scope.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript) and run.value(target.value, scope) == Ref("os.environ"):
            environment.unset(run, target, run.value(target.slice, scope))


def _assert(run: Interpreter, node: ast.Assert, scope: Scope) -> None:
    run.value(node.test, scope)
    _forget(run, conditions.compared_devices(node.test), scope)


def _global(run: Interpreter, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
    scope.elsewhere.update(node.names)


def _import(run: Interpreter, node: ast.Import, scope: Scope) -> None:
    for alias in node.names:
        name = alias.name if alias.asname else alias.name.partition(".")[0]
        scope.write(alias.asname or name, Ref(name))


def _import_from(run: Interpreter, node: ast.ImportFrom, scope: Scope) -> None:
    module = "." * node.level + (node.module or "")
    for alias in node.names:
        scope.write(alias.asname or alias.name, Ref(f"{module}.{alias.name}"))


def _function(run: Interpreter, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
    scope.write(node.name, Function(node, scope))


def _class(run: Interpreter, node: ast.ClassDef, scope: Scope) -> None:
    inside = Scope(parent=scope)
    bases = [run.value(base, scope) for base in node.bases]
    scope.write(node.name, ClassValue(classes.class_facts(node, bases, inside)))
    for statement in node.body:
        # Methods are found by the class; what they see is the scope around it.
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            execute(run, statement, inside)


def _is_broad(node: ast.expr | None) -> bool:
    if node is None:
        return True
    names = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(name, ast.Name) and name.id in _BROAD for name in names)


_HANDLERS: dict[type, Callable[..., bool | None]] = {
    ast.Expr: _expression,
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _leave,
    ast.Continue: _leave,
    ast.Break: _leave,
    ast.If: _if,
    ast.For: loops.follow_for,
    ast.While: loops.follow_while,
    ast.Try: _try,
    ast.With: _with,
    ast.Match: _match,
    ast.Delete: _delete,
    ast.Assert: _assert,
    ast.Global: _global,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.FunctionDef: _function,
    ast.ClassDef: _class,
    ast.AsyncFor: loops.follow_for,
    ast.AsyncWith: _with,
    ast.Nonlocal: _global,
    ast.AsyncFunctionDef: _function,
}
if sys.version_info >= (3, 11):
    _HANDLERS[ast.TryStar] = _try
