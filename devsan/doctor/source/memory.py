"""What a program remembers for later calls: caches, of which the key may leave out the device."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source.definitions import Function
from devsan.doctor.source.objects import Object
from devsan.doctor.source.places import NOWHERE
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import Device, Sequence, Table, Tensor, Value

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter


def marked(run: Interpreter, target: ast.Attribute | ast.Subscript, value: Value) -> Value:
    """Returns ``value`` as what is remembered at ``target``, if the program stores it where it found none."""
    holder = target.value if isinstance(target, ast.Subscript) else target
    if not _is_held(holder) or not isinstance(value, Tensor | Sequence):
        return value
    text = run.source.shown(holder)
    if any(_looks_for(run, around, text) for around in run.tests):
        return _kept(value, run.source.shown(holder, 40))
    return value


def _looks_for(run: Interpreter, around: ast.If, text: str) -> bool:
    """Whether a branch is taken where something is not remembered yet: itself, or what is remembered beside it."""
    test = run.source.segment(around.test)
    if _found_one(around.test):
        return False
    return text in test or any(run.source.shown(each) in test for each in _targets(around))


def _targets(around: ast.If) -> list[ast.Attribute]:
    """The attributes that a branch sets in lines of its own."""
    return [
        each for statement in around.body if isinstance(statement, ast.Assign) for target in statement.targets
        for each in (target.elts if isinstance(target, ast.Tuple) else [target]) if isinstance(each, ast.Attribute)
    ]  # fmt: skip


def is_there(run: Interpreter, node: ast.If, scope: Scope) -> bool:
    """Returns whether a branch only makes what is remembered, and it is remembered already.

    ``if self.table is None or len(self.table) < n: self.table = ...``: the second call with the same size goes by. A
    test that asks for the device is one that knows better.
    """
    targets = _targets(node)
    if not targets or node.orelse or "device" in run.source.segment(node.test):
        return False
    asked = {ast.dump(each) for each in ast.walk(node.test) if isinstance(each, ast.Attribute)}
    if not any(ast.dump(_loaded(each)) in asked for each in targets):
        return False
    held = [run.value(_loaded(each), scope) for each in targets]
    return any(isinstance(each, Tensor) and each.kept and each.where != NOWHERE for each in held)


def names_a_device(run: Interpreter, node: ast.expr, key: Value) -> bool:
    """Returns whether a key says for which device something is remembered."""
    parts = key.items or () if isinstance(key, Sequence) else (key,)
    if any(isinstance(each, Device) for each in parts):
        return True
    text = run.source.segment(node).lower()
    return any(word in text for word in ("device", "dev", "rank", "gpu", ".type"))


def again(run: Interpreter, function: Function, values: list[Value], named: dict[str, Value]) -> Value | None:
    """Returns what a function gave before that is told to remember it, by arguments that say no device."""
    return run.remembered.get(function.node) if _is_remembered(function, values, named) else None


def remember(
    run: Interpreter, function: Function, values: list[Value], named: dict[str, Value], value: Value
) -> None:  # fmt: skip
    """Keeps what a function gave first, if it is told to, and its arguments say no device."""
    if _is_remembered(function, values, named):
        run.remembered.setdefault(function.node, _kept(value, getattr(function.node, "name", "")))


def _is_remembered(function: Function, values: list[Value], named: dict[str, Value]) -> bool:
    node = function.node
    if isinstance(node, ast.Lambda) or not any(_is_cache(each) for each in node.decorator_list):
        return False
    return not any(isinstance(each, Device | Tensor | Object) for each in (*values, *named.values()))


def _is_cache(node: ast.expr) -> bool:
    node = node.func if isinstance(node, ast.Call) else node
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in ("cache", "lru_cache")


def _kept(value: Value, name: str) -> Value:
    if isinstance(value, Tensor):
        return replace(value, kept=name)
    if isinstance(value, Sequence):
        items = None if value.items is None else tuple(_kept(each, name) for each in value.items)
        return Sequence(items, _kept(value.element, name))
    return Table(tuple((key, _kept(each, name)) for key, each in value.items)) if isinstance(value, Table) else value


def _found_one(test: ast.expr) -> bool:
    """``if x is not None`` and ``if n in x``: what is stored then takes the place of what was there."""
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot | ast.In)


def _is_held(node: ast.expr) -> bool:
    """An attribute of an object or a class, or a name: what is there in the next call."""
    return isinstance(node, ast.Attribute | ast.Name)


def _loaded(node: ast.Attribute) -> ast.Attribute:
    return ast.copy_location(ast.Attribute(node.value, node.attr, ast.Load()), node)
