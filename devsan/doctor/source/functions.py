"""Calls of the file's own functions: each is followed with what it is given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devsan.doctor.source import memory
from devsan.doctor.source.definitions import ClassValue, Function
from devsan.doctor.source.frames import Frame
from devsan.doctor.source.objects import Object
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import NONE, NUMBER, UNKNOWN, Const, Sequence, Table, Value, join_all

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter


# Calls inside of one another: of the program as it runs, and of what is followed for itself.
_DEEPEST, _DEEPEST_ALONE = 12, 6


def follow(
    run: Interpreter, function: Function, values: list[Value], named: dict[str, Value], node: ast.AST | None
) -> Value:
    """Follows a function of the file, and returns what it gives; without ``node`` nobody is known to call it."""
    definition = function.node
    deepest = _DEEPEST if run.running else _DEEPEST_ALONE
    if len(run.frames) >= deepest or any(frame.node is definition for frame in run.frames):
        return UNKNOWN
    given = values  # before the bound object is prepended
    remembered = memory.again(run, function, given, named)
    if remembered is not None:
        return remembered
    outer = function.scope if isinstance(function.scope, Scope) else None
    inside = Scope(parent=outer)
    decorators = [] if isinstance(definition, ast.Lambda) else definition.decorator_list
    static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in decorators)
    if (
        function.bound is not None
        and not static
        and (isinstance(function.bound, Object) or _is_class_method(decorators))
    ):
        bound = function.bound
        if isinstance(bound, Object) and bound.state.facts is not None and _is_class_method(decorators):
            bound = ClassValue(bound.state.facts)
        values = [bound, *values]
    bind(run, definition.args, values, named, inside, outer, node is not None)
    run.followed.add(definition)
    guards = run.guards
    run.followed_calls += 1
    run.frames.append(Frame(definition, function.owner, inside, run.followed_calls))
    try:
        if isinstance(definition, ast.Lambda):
            return run.value(definition.body, inside)
        run.block(definition.body, inside)
        frame = run.frames[-1]
    finally:
        run.frames.pop()
        run.guards = guards
    if frame.yielded:
        return Sequence(None, join_all(frame.yielded))
    if isinstance(definition, ast.AsyncFunctionDef):
        return UNKNOWN
    made = join_all(frame.returned) if frame.returned else NONE
    memory.remember(run, function, given, named, made)
    return made


def bind(
    run: Interpreter, arguments: ast.arguments, values: list[Value], named: dict[str, Value], inside: Scope,
    outer: Scope | None, called: bool = True,
) -> None:  # fmt: skip
    """Gives the parameters of a function their values.

    Of a function that is followed by itself (not ``called``), a default of None says that callers may give anything.
    """
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: dict[str, ast.expr] = {}
    for parameter, default in zip(reversed(positional), reversed(arguments.defaults), strict=False):
        defaults[parameter.arg] = default
    for parameter, default_of_named in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default_of_named is not None:
            defaults[parameter.arg] = default_of_named
    left = dict(named)
    for number, parameter in enumerate([*positional, *arguments.kwonlyargs]):
        if number < len(positional) and number < len(values):
            value = values[number]
        elif parameter.arg in left:
            value = left.pop(parameter.arg)
        elif parameter.arg in defaults:
            value = run.value(defaults[parameter.arg], outer or Scope())
            if not called and (value == NONE or (isinstance(value, Const) and type(value.value) in (int, float, str))):
                value = NUMBER if value != NONE and not isinstance(value.value, str) else UNKNOWN
        else:
            value = UNKNOWN
        inside.names[parameter.arg] = value
    if arguments.vararg is not None:
        inside.names[arguments.vararg.arg] = Sequence(tuple(values[len(positional) :]))
    if arguments.kwarg is not None:
        inside.names[arguments.kwarg.arg] = Table(tuple(left.items()), False)


def _is_class_method(decorators: list[ast.expr]) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "classmethod" for each in decorators)
