"""What a function keeps from call to call: captured variables, defaults of its arguments, what a partial was given."""

from __future__ import annotations

import ast
import functools
import gc
import types
from collections.abc import Iterator, Sequence
from typing import Any

from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.source.sources import statements_of, tree_of

KEEPING = (types.FunctionType, types.MethodType, functools.partial)
"""What `kept_by` looks into."""


def kept_by(function: Any) -> Iterator[tuple[str, Any]]:
    """Yields what ``function`` keeps, each with how it is reached: ``.table``; nothing for what is no function."""
    if isinstance(function, functools.partial):
        yield from ((f".{name}", value) for name, value in function.keywords.items())
        yield from ((f".args[{number}]", value) for number, value in enumerate(function.args))
        yield from kept_by(function.func)
    elif isinstance(function, types.MethodType):
        yield "", function.__self__
        yield from kept_by(function.__func__)
    elif isinstance(function, types.FunctionType):
        yield from ((f".{name}", value) for name, value in captured(function))
        yield from ((f".{name}", value) for name, value in defaults(function))


def captured(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yields the variables of enclosing functions that ``function`` captured."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not bound yet
            continue


def defaults(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yields the defaults of the arguments of ``function``, which are made once, when it is defined."""
    code, given = function.__code__, function.__defaults__ or ()
    yield from zip(code.co_varnames[code.co_argcount - len(given) : code.co_argcount], given, strict=False)
    yield from (function.__kwdefaults__ or {}).items()


def keeper_of(value: Any, frames: Sequence[Frame]) -> str:
    """Returns the name of the running function that keeps ``value`` from call to call, or of the partial that was
    called; "" where none does.

    What is captured from a function that still runs is a variable of that one.
    """
    for number, frame in reversed(list(enumerate(frames))):
        if frame.whose is Whose.HIDDEN:
            continue
        names = frame.scope.locals
        outer = {name for each in frames[:number] for name in each.code.co_cellvars}
        if any(names.get(name) is value for name in frame.code.co_freevars if name not in outer):
            return frame.function
        arguments = frame.code.co_varnames[: frame.code.co_argcount + frame.code.co_kwonlyargcount]
        if any(names.get(name) is value for name in arguments) and _is_default(value, frame.code):
            return frame.function
        if name := _partial_in(frame, value):
            return name
    return ""


def _partial_in(frame: Frame, value: Any) -> str:
    """The partial that the frame's line calls by a global and that was given ``value``, which no global names."""
    names = frame.scope.globals
    used = (names.get(name) for name in frame.code.co_names)
    if not any(isinstance(each, functools.partial) for each in used):
        return ""  # before the function's syntax is read, and all globals are looked at
    if any(each is value for each in list(names.values())):
        return ""
    for node in statements_of(tree_of(frame.code) or ast.Module([], [])):
        if not isinstance(node, ast.Call) or not node.lineno <= frame.line <= (node.end_lineno or node.lineno):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        called = names.get(name)
        if isinstance(called, functools.partial) and any(kept is value for _, kept in kept_by(called)):
            return name
    return ""


def _is_default(value: Any, code: types.CodeType) -> bool:
    functions = (each for each in gc.get_referrers(code) if type(each) is types.FunctionType)
    return any(default is value for each in functions for _, default in defaults(each))
