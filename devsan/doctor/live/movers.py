"""Where a hook that a program wrote brings the inputs of its module. Read from its code; it is not called."""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Iterator
from typing import Any

from devsan.diagnostics.torch_names import MOVES
from devsan.introspect.frames.values import is_a, own_dict

_DEVICE = re.compile(r"(?:cuda(?::\d+)?|cpu)")
_MOVES = MOVES | {"send_to_device", "move_to_device", "move_data_to_device"}
_ORDINAL = re.compile(r"device|gpu|ordinal|rank", re.IGNORECASE)  # names of numbers that stand for a GPU


def code_of(function: Any) -> types.CodeType | None:
    """Returns the code of a function, a method, a partial or an object that can be called; None for compiled ones."""
    for _ in range(4):
        if is_a(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        else:
            break
    if isinstance(function, types.FunctionType):
        return function.__code__
    call = next((base.__dict__["__call__"] for base in type(function).__mro__ if "__call__" in base.__dict__), None)
    return call.__code__ if isinstance(call, types.FunctionType) else None


def target_of(function: Any) -> str:
    """Returns the one device to which ``function`` moves what it gets, "" where it moves nothing or nobody can say."""
    code = code_of(function)
    if code is None or not _MOVES & set(_names(code)):
        return ""
    found = {spelled for value, name in _values(function, code) if (spelled := _device(value, name))}
    return found.pop() if len(found) == 1 else ""


def _values(function: Any, code: types.CodeType) -> Iterator[tuple[Any, str]]:
    """Yields what the code can reach: constants, closures, defaults, globals that it names, its object's attributes."""
    yield from ((constant, "") for constant in _constants(code))
    for _ in range(4):
        if is_a(function, functools.partial):
            yield from ((value, "device") for value in (*function.args, *function.keywords.values()))
            function = function.func
        elif isinstance(function, types.MethodType):
            yield from _attributes(function.__self__, code)
            function = function.__func__
        else:
            break
    if not isinstance(function, types.FunctionType):
        yield from _attributes(function, code)
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield cell.cell_contents, name
        except ValueError:  # not filled yet
            continue
    defaults = function.__defaults__ or ()
    count = function.__code__.co_argcount
    yield from zip(defaults, function.__code__.co_varnames[count - len(defaults) : count], strict=False)
    yield from ((function.__globals__[name], name) for name in _names(code) if name in function.__globals__)


def _attributes(holder: Any, code: types.CodeType) -> Iterator[tuple[Any, str]]:
    own = own_dict(holder)
    yield from ((own[name], name) for name in _names(code) if name in own)


def _device(value: Any, name: str) -> str:
    if type(value).__name__ == "device" and type(value).__module__ == "torch":
        return str(value)
    if isinstance(value, str):
        return value if _DEVICE.fullmatch(value) else ""
    return f"cuda:{value}" if type(value) is int and _ORDINAL.search(name) else ""


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names(code: types.CodeType) -> list[str]:
    return [name for each in _codes(code) for name in each.co_names]


def _constants(code: types.CodeType) -> list[Any]:
    return [constant for each in _codes(code) for constant in each.co_consts if isinstance(constant, str)]
