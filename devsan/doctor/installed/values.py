"""The values that the arguments of an installed class may have, where its source lists them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.doctor.installed.literals import listed
from devsan.doctor.installed.packages import Definition, Installed

_DEEPEST = 8  # base classes
_CHECKED_BY_TYPE = ("lightning", "lightning_fabric", "pytorch_lightning")
"""Packages that refuse what their annotations do not list. Others list examples: peft's "pissa_niter_[number]"."""


def accepted(installed: Installed, module: str, name: str) -> Mapping[str, tuple[Any, ...]]:
    """Returns the arguments of ``name``, as ``module`` offers it, whose values are listed, each with its values."""
    found = installed.find(module, name)
    return _of(installed, found, _DEEPEST) if found is not None else {}


def _of(installed: Installed, found: Definition, left: int) -> dict[str, tuple[Any, ...]]:
    node = found.node
    if not isinstance(node, ast.ClassDef) or not left:
        return {}
    made: dict[str, tuple[Any, ...]] = {}
    for base in node.bases:
        other = installed.find(found.module.name, base.id) if isinstance(base, ast.Name) else None
        if other is not None and other.node is not node:
            made.update(_of(installed, other, left - 1))
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name in ("__init__", "__post_init__"):
            made.update(_converted(installed, found, each))
            if each.name == "__init__" and found.module.name.startswith(_CHECKED_BY_TYPE):
                made.update(_annotated(installed, found, each))
    return made


def _annotated(installed: Installed, found: Definition, made: ast.FunctionDef) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for each in (*made.args.args, *made.args.kwonlyargs):
        values = listed(installed, found.module, each.annotation) if each.annotation is not None else None
        if values:
            yield each.arg, values


def _converted(installed: Installed, found: Definition, made: ast.FunctionDef) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What the constructor takes by an enum, whatever else it does: ``self.optim = OptimizerNames(self.optim)``."""
    changed: set[str] = set()
    for node in _always(made.body):
        by_enum = _by_enum(node)
        if by_enum is not None and by_enum[0] not in changed:
            definition = installed.find(found.module.name, by_enum[1])
            values = _members(installed, definition) if definition is not None else None
            if values:
                yield by_enum[0], values
        changed.update(_targets(node))


def _always(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run for each value that is given: also those behind ``if value is not None``."""
    for node in body:
        yield node
        test = node.test if isinstance(node, ast.If) else None
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot):
            yield from _always(node.body)  # type: ignore[attr-defined]


def _by_enum(node: ast.stmt) -> tuple[str, str] | None:
    """An argument and the enum that it has to be of: it is made of the argument, or has to contain it."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
        call = node.value
        if len(call.args) == 1 and not call.keywords and _name(call.args[0]) == _name(node.targets[0]) != "":
            return _name(call.args[0]), call.func.id  # type: ignore[attr-defined]
    if isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and isinstance(node.body[0], ast.Raise):
        right = node.test.comparators[0]
        if isinstance(node.test.ops[0], ast.NotIn) and isinstance(right, ast.Name) and _name(node.test.left):
            return _name(node.test.left), right.id
    return None


def _targets(node: ast.stmt) -> Iterator[str]:
    """What a statement changes, but for what it writes as a text."""
    for each in ast.walk(node):
        if isinstance(each, ast.Assign) and not (isinstance(each.value, ast.Call) and _name(each.value.func) == "str"):
            yield from (name for target in each.targets if (name := _name(target)))


def _name(node: ast.expr) -> str:
    """``value`` of ``value`` and of ``self.value``."""
    if isinstance(node, ast.Attribute):
        return node.attr if getattr(node.value, "id", "") == "self" else ""
    return node.id if isinstance(node, ast.Name) else ""


def _members(installed: Installed, found: Definition) -> tuple[Any, ...] | None:
    """The values of an enum; None where it is none, computes them, or makes one of another value."""
    node = found.node
    bases = [base.id if isinstance(base, ast.Name) else ast.unparse(base) for base in getattr(node, "bases", [])]
    if not isinstance(node, ast.ClassDef) or not any(base.endswith("Enum") for base in bases):
        return None
    others = [installed.find(found.module.name, base) for base in bases]
    if any(_replaces(each.node) for each in (found, *others) if each is not None):
        return None
    values = [each.value for each in node.body if isinstance(each, ast.Assign)]
    known = tuple(each.value for each in values if isinstance(each, ast.Constant))
    return known if len(known) == len(values) else None


def _replaces(node: ast.AST) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name == "_missing_"
               and any(isinstance(part, ast.Return) for part in ast.walk(each)) for each in ast.walk(node))  # fmt: skip
