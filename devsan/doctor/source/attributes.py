"""``holder.name = value``: what changes, and what a program moves by it."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import memory
from devsan.doctor.source.definitions import ClassValue
from devsan.doctor.source.events import Move
from devsan.doctor.source.objects import Object, assign, mapped
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import UNKNOWN, Sequence, Table, Tensor, Value, join_values

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter


def store(run: Interpreter, target: ast.Attribute, value: Value, scope: Scope) -> None:
    """Gives an attribute its value."""
    holder = run.value(target.value, scope)
    value = memory.marked(run, target, value)
    if isinstance(holder, Object):
        if holder.state.is_module:
            value = _beside(value, target.attr)
        assign(holder, target.attr, value, run.is_certain(holder) or _is_kept(value))
    elif isinstance(holder, ClassValue) and isinstance(holder.facts.scope, Scope):
        names = holder.facts.scope.names
        before = names.get(target.attr)
        # What a class remembers is there when somebody asks again: the path on which it was made.
        names[target.attr] = (
            value if before is None or not run.regions or _is_kept(value) else join_values(before, value)
        )
    elif isinstance(holder, Tensor) and target.attr == "data":
        _placed(run, holder, value, target)
        if isinstance(target.value, ast.Name | ast.Attribute):  # the tensor itself is where its data is
            there = replace(holder, where=value.where, made=value.made) if isinstance(value, Tensor) else UNKNOWN
            run.assign(target.value, there, scope)


def _placed(run: Interpreter, holder: Tensor, value: Value, target: ast.Attribute) -> None:
    """``p.data = p.data.to(device)`` for the parameters of a model moves the model."""
    model = holder.of
    if not isinstance(model, Object) or not isinstance(value, Tensor) or value.how != "moved":
        return
    run.tell(
        Move(value.made or target, run.functions, module=model, where=value.where, map=mapped(model),
             wrapped=model.state.wrapped, optimizer=None, guarded=run.guards > 0)
    )  # fmt: skip


def _beside(value: Value, name: str) -> Value:
    """Modules in a plain list or dictionary of a module are none of its own."""
    if isinstance(value, Sequence | Table):
        inner = [each for _, each in value.items] if isinstance(value, Table) else [*(value.items or ()), value.element]
        for each in inner:
            if isinstance(each, Object) and each.state.is_module and not each.state.plain:
                each.state.plain = name
    return value


def _is_kept(value: Value) -> bool:
    return isinstance(value, Tensor) and bool(value.kept)
