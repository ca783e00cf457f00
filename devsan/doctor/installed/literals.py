"""The values that an annotation of Literal types lists."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from devsan.doctor.installed.module import Module
from devsan.doctor.installed.packages import Installed

_DEEPEST = 8  # modules that hand a name on, and types in types


def listed(installed: Installed, module: Module, node: ast.expr, left: int = _DEEPEST) -> tuple[Any, ...] | None:
    """Returns the values that ``node``, an annotation in ``module``, lists; None where it allows others as well."""
    if not left:
        return None
    if isinstance(node, ast.Constant):
        return (None,) if node.value is None else _quoted(installed, module, node.value, left)
    if isinstance(node, ast.Name):
        found = _assigned(installed, module, node.id, left)
        return listed(installed, found[0], found[1], left - 1) if found is not None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _all(installed, module, (node.left, node.right), left)
    if not isinstance(node, ast.Subscript):
        return None
    kind = ast.unparse(node.value).rpartition(".")[2]
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if kind == "Literal":
        values = tuple(each.value for each in parts if isinstance(each, ast.Constant))
        return values if len(values) == len(parts) else None
    if kind in ("Optional", "Union"):
        found_parts = _all(installed, module, parts, left)
        return (*found_parts, None) if kind == "Optional" and found_parts is not None else found_parts
    return None


def _all(installed: Installed, module: Module, nodes: Iterable[ast.expr], left: int) -> tuple[Any, ...] | None:
    found: list[Any] = []
    for node in nodes:
        part = listed(installed, module, node, left - 1)
        if part is None:
            return None
        found += part
    return tuple(found)


def _quoted(installed: Installed, module: Module, text: Any, left: int) -> tuple[Any, ...] | None:
    if not isinstance(text, str):
        return None
    try:
        return listed(installed, module, ast.parse(text, mode="eval").body, left - 1)
    except SyntaxError:
        return None


def _assigned(installed: Installed, module: Module, name: str, left: int) -> tuple[Module, ast.expr] | None:
    """The one value that a module, or the one that it takes the name from, gives ``name``."""
    found: list[tuple[Module, ast.expr] | None] = []
    for node in module.statements:
        if isinstance(node, ast.Assign) and any(getattr(each, "id", "") == name for each in node.targets):
            found.append((module, node.value))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                other = installed.module(module.absolute(node)) if (alias.asname or alias.name) == name else None
                found += [_assigned(installed, other, alias.name, left - 1)] if other is not None and left else []
    return found[0] if len(found) == 1 else None
