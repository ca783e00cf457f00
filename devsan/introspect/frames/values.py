"""The value of an expression in a frame, found without running anything of the program.

NOTE [Nothing runs] The program has failed; its report must not call its code. So names are looked up in the frame,
attributes in ``__dict__`` and slots, subscripts in exact dict/list/tuple storage. A property, ``__getattr__``,
``__getitem__`` or a call has no value here. torch.nn.Module keeps its parameters in dictionaries of its own; those
are read directly.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections import UserDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from devsan.introspect.frames.tensors import is_module, is_tensor


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()


@dataclass(frozen=True)
class Step:
    """One step from a value to a part of it: an attribute's name, or a subscript."""

    key: Any
    is_attribute: bool = False

    def __str__(self) -> str:
        return f".{self.key}" if self.is_attribute else f"[{self.key!r}]"


class Scope:
    """The names of one frame."""

    def __init__(self, frame: types.FrameType) -> None:
        self._locals: Mapping[str, object] = frame.f_locals
        self._globals: Mapping[str, object] = frame.f_globals

    @property
    def locals(self) -> Mapping[str, object]:
        """The frame's own variables; a module's globals when the frame is a module's."""
        return self._locals

    @property
    def globals(self) -> Mapping[str, object]:
        """The variables of the frame's file."""
        return self._globals

    def value(self, node: ast.AST | None) -> object:
        """Returns what ``node`` stands for, or MISSING. See NOTE [Nothing runs]."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.NamedExpr):
            return self._name(node.target.id)
        if isinstance(node, ast.Attribute):
            return part(self.value(node.value), Step(node.attr, is_attribute=True))
        if isinstance(node, ast.Subscript):
            key = self.value(node.slice)
            return part(self.value(node.value), Step(key)) if type(key) in (int, str) else MISSING
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            number = self.value(node.operand)
            return -number if type(number) in (int, float) else MISSING  # type: ignore[operator]
        if isinstance(node, ast.JoinedStr):  # f"cuda:{rank}"
            return self._text(node)
        return MISSING

    def _text(self, node: ast.JoinedStr) -> object:
        pieces = []
        for piece in node.values:
            formatted = isinstance(piece, ast.FormattedValue)
            if isinstance(piece, ast.FormattedValue) and (piece.conversion != -1 or piece.format_spec is not None):
                return MISSING
            value = self.value(piece.value if isinstance(piece, ast.FormattedValue) else piece)
            if type(value) is not str and not (formatted and type(value) is int):
                return MISSING
            pieces.append(str(value))
        return "".join(pieces)

    def _name(self, name: str) -> object:
        for names in (self._locals, self._globals, vars(builtins)):
            if name in names:
                return names[name]
        return MISSING


def part(value: object, step: Step) -> object:
    """Returns the attribute or element of ``value`` that ``step`` leads to, or MISSING."""
    if value is MISSING:
        return MISSING
    return _attribute(value, step.key) if step.is_attribute else _element(value, step.key)


def _attribute(value: object, name: str) -> object:
    if is_tensor(value):
        return MISSING  # they compute; devsan.introspect.frames.expressions knows which keep the device
    if is_a(value, type):
        return in_class(cast(type, value), name)
    own = own_dict(value)
    if is_module(value):
        for kept in ("_parameters", "_buffers", "_modules"):
            members = dict_in(value, kept)  # of any type: ZeRO-3 has one of its own
            if dict.__contains__(members, name):
                return dict.__getitem__(members, name)
    defined = in_class(type(value), name)
    if isinstance(defined, types.MemberDescriptorType):  # __slots__
        try:
            return defined.__get__(value)
        except AttributeError:
            return MISSING
    fields = in_class(type(value), "_fields")
    if is_a(value, tuple) and type(fields) is tuple and name in fields:  # a named tuple
        return tuple.__getitem__(cast(tuple[object, ...], value), fields.index(name))
    if hasattr(type(defined), "__set__"):  # a property: it wins over the instance's own
        return MISSING
    if name in own:
        return own[name]
    if is_a(value, UserDict):  # transformers' BatchEncoding: batch.labels is batch["labels"]
        return _element(value, name)
    if isinstance(defined, types.FunctionType):
        return types.MethodType(defined, value)
    return MISSING if hasattr(type(defined), "__get__") else defined


def in_class(kind: type, name: str) -> object:
    """Returns what ``kind`` or a class that it is derived from defines under ``name``, or MISSING."""
    for base in type.__dict__["__mro__"].__get__(kind):
        if name in base.__dict__:
            found: object = base.__dict__[name]
            return found
    return MISSING


def is_a(value: object, *kinds: type) -> bool:
    """isinstance() for objects of the program: it would ask them for ``__class__``, which a proxy computes."""
    return any(kind in type.__dict__["__mro__"].__get__(type(value)) for kind in kinds)


def own_dict(value: object) -> dict[str, Any]:
    """Returns the ``__dict__`` of ``value``, empty when it has none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def dict_in(value: object, name: str) -> dict[Any, Any]:
    """Returns the dictionary that the attribute ``name`` of ``value`` is; an empty one when it is none."""
    found = own_dict(value).get(name)
    return cast(dict[Any, Any], found) if is_a(found, dict) else {}


def elements_of(value: object) -> object:
    """Returns the dictionary that a UserDict keeps, as a BatchEncoding of transformers is one; ``value`` else."""
    return own_dict(value).get("data", MISSING) if is_a(value, UserDict) else value


def _element(value: object, key: object) -> object:
    value = elements_of(value)
    if is_module(value):  # ModuleList, Sequential, ModuleDict, ParameterDict
        for kept in ("_modules", "_parameters"):
            members = dict_in(value, kept)
            if isinstance(key, int) and -len(members) <= key < len(members):
                key = str(key % len(members))
            if dict.__contains__(members, key):
                return dict.__getitem__(members, key)
        return MISSING
    if is_a(value, dict):
        return dict.get(cast(dict[object, object], value), key, MISSING)
    if is_a(value, list, tuple) and isinstance(key, int):
        try:
            if is_a(value, list):
                return list.__getitem__(cast(list[object], value), key)
            return tuple.__getitem__(cast(tuple[object, ...], value), key)
        except IndexError:
            return MISSING
    return MISSING
