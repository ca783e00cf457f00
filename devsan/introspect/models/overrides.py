"""A ``to`` or ``cuda`` that a module's class has of its own: the move of a parent does not call it.

Module.to of the parent reaches the modules below it by their ``_apply`` (torch/nn/modules/module.py).
"""

from __future__ import annotations

import ast
import types
from typing import Any

from devsan import core
from devsan.introspect.frames.places import package_of, place
from devsan.introspect.source.sources import nodes_in, tree_of

_MOVES = ("to", "cuda")


def override_of(holder: Any, attribute: str) -> core.Frame | None:
    """Returns the program's own method of the class of ``holder`` that moves ``self.<attribute>``; None without one."""
    for kind in type.__dict__["__mro__"].__get__(type(holder)):
        own = type.__dict__["__dict__"].__get__(kind)
        if _of_program(own.get("_apply")):
            return None  # every move goes through it
        for name in _MOVES:
            method = own.get(name)
            tree = tree_of(method.__code__) if _of_program(method) else None
            if tree is not None and _mentions(tree, attribute):
                return place(method.__code__, method.__code__.co_firstlineno)
    return None


def _of_program(method: Any) -> bool:
    return isinstance(method, types.FunctionType) and not package_of(method.__code__.co_filename)


def _mentions(tree: ast.AST, attribute: str) -> bool:
    return any(
        node.attr == attribute and isinstance(node.value, ast.Name) and node.value.id == "self"
        for node in nodes_in(tree, ast.Attribute)
    )
