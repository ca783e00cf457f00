"""Numbers and texts that are written down: what comes out of them, where that is plain to see.

How many layers a model has, and how many GPUs, decides which layer goes where; so numbers are computed as the program
does. Whatever is larger than a program writes down, or fails, is some number.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from devsan.doctor.source.objects import Object
from devsan.doctor.source.places import HOST, Where, read_device
from devsan.doctor.source.values import (
    NUMBER,
    UNKNOWN,
    Const,
    Device,
    Sequence,
    Table,
    Value,
    is_known,
)

_LARGEST = 1 << 40
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


def binary(op: ast.operator, left: Const, right: Const) -> Value:
    """Returns what an operator gives for two constants, of which none is a text."""
    if not (_is_number(left) and _is_number(right)):
        return UNKNOWN
    if is_known(left) and is_known(right) and type(op) in _BINARY:
        try:
            found = _BINARY[type(op)](left.value, right.value)
        except (ArithmeticError, TypeError, ValueError):
            return NUMBER
        if isinstance(found, int | float) and abs(found) < _LARGEST:
            return Const(found)
    return NUMBER


def compare(op: ast.cmpop, left: Value, right: Value) -> Value:
    """Returns the result of a comparison: True, False or UNKNOWN."""
    if isinstance(op, ast.In | ast.NotIn):
        found = _is_in(left, right)
        return UNKNOWN if found is None else Const(found == isinstance(op, ast.In))
    if type(op) not in _COMPARED:
        return UNKNOWN
    left, right = _as_text(left, right), _as_text(right, left)
    if isinstance(left, Const) and isinstance(right, Const) and is_known(left) and is_known(right):
        try:
            return Const(bool(_COMPARED[type(op)](left.value, right.value)))
        except TypeError:
            return UNKNOWN
    return UNKNOWN


def truth(value: Value) -> bool | None:
    """Returns whether a value counts as true; None where that is not known."""
    if is_known(value) and isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Device) or (isinstance(value, Object) and value.state.is_module):
        return True
    # An empty one may have been filled by somebody else who has it.
    if (isinstance(value, Sequence) and value.items) or (isinstance(value, Table) and value.items):
        return True
    return None


def unary(op: ast.unaryop, value: Value) -> Value:
    """Returns -x, +x and not x."""
    if isinstance(op, ast.Not):
        known = truth(value)
        return UNKNOWN if known is None else Const(not known)
    if isinstance(op, ast.USub) and isinstance(value, Const) and is_known(value) and _is_number(value):
        return Const(-value.value)
    return value


def read_text(text: str, shown: str) -> Value:
    """Returns what a text is that was put together: a device, or a text. NUL stands for what is not known in it."""
    if text.startswith("cuda"):
        where = read_device(text)
        return Device(where if where.kind == "gpu" else Where("value", text=shown))
    return UNKNOWN if "\0" in text else Const(text)


def text_method(text: str, name: str, values: list[Value]) -> Value:
    """Returns what a method of a text gives: those that put lists into texts, and take them out."""
    texts = [each.value for each in values if isinstance(each, Const) and isinstance(each.value, str)]
    if name == "join" and len(values) == 1 and isinstance(values[0], Sequence) and values[0].items is not None:
        parts = [each.value for each in values[0].items if isinstance(each, Const) and isinstance(each.value, str)]
        return Const(text.join(parts)) if len(parts) == len(values[0].items) else UNKNOWN
    if len(texts) != len(values):
        return UNKNOWN
    given = texts[0] if texts else None
    if name == "split" and len(texts) <= 1 and given != "":
        return Sequence(tuple(map(Const, text.split(given))))
    if name in ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix") and len(texts) <= 1:
        return Const(getattr(text, name)(*texts)) if texts or name.endswith("strip") else UNKNOWN
    return UNKNOWN


def slot(value: Value) -> str:
    """Returns what a value is in a text; NUL where that is not known."""
    if isinstance(value, Device) and value.where.kind in ("gpu", "host"):
        return "cpu" if value.where == HOST else str(value.where)
    if isinstance(value, Const) and is_known(value) and isinstance(value.value, str | int):
        return str(value.value)
    return "\0"


def _is_in(value: Value, holder: Value) -> bool | None:
    if isinstance(holder, Table):
        if isinstance(value, Const) and is_known(value):
            found = any(name == value.value for name, _ in holder.items)
            return found or (None if not holder.whole or not holder.items else False)
        # Somebody stored under a key that is not known: it may be this one, and then it is found.
        return True if holder.rest is not None else None
    # An empty list may have been filled by somebody else who has it.
    if isinstance(holder, Sequence) and holder.items and all(is_known(each) for each in holder.items):
        return value in holder.items if is_known(value) else None
    if isinstance(holder, Const) and isinstance(holder.value, str) and is_known(value) and isinstance(value, Const):
        return str(value.value) in holder.value
    return None


def _as_text(value: Value, other: Value) -> Value:
    """A device that is compared with a text is one."""
    if isinstance(value, Device) and value.where.kind in ("gpu", "host") and isinstance(other, Const | Device):
        return Const(slot(value))
    return value


def _is_number(value: Const) -> bool:
    return isinstance(value.value, int | float | complex)
