"""Calls: of the file's own functions and classes, and who answers for the others."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devsan.doctor.source import (
    arithmetic,
    builtin_calls,
    classes,
    containers,
    environment,
    functions,
    library_calls,
    module_calls,
    tensor_calls,
    torch_calls,
)
from devsan.doctor.source.arguments import Arguments
from devsan.doctor.source.definitions import ClassValue, Function, Member, Partial
from devsan.doctor.source.events import Discarded, ToNumpy
from devsan.doctor.source.objects import (
    Object,
    State,
    copied,
    element_of,
    lose,
)
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import (
    NONE,
    UNKNOWN,
    Const,
    Parameters,
    Ref,
    Sequence,
    Table,
    Tensor,
    Value,
    is_known,
    join_all,
)

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter


# Dictionaries of which the keys are attributes.
_NAMESPACES = ("EasyDict", "AttrDict", "Munch", "DotMap", "Bunch", "ConfigDict", "create", "edict", "Config")


def call(run: Interpreter, node: ast.Call, scope: Scope) -> Value:
    """Returns what a call gives."""
    if isinstance(node.func, ast.Name) and node.func.id == "super":
        return scope.read("self") if "self" in scope.names else UNKNOWN
    function = run.value(node.func, scope)
    if isinstance(function, Partial):
        given = Arguments(run, node, scope).after(function)
        return invoke(run, function.function, given, scope)
    if isinstance(node.func, ast.Attribute) and classes.is_super(node.func.value):
        function = classes.of_super(run, node.func.attr, scope)
    return invoke(run, function, Arguments(run, node, scope), scope)


def invoke(run: Interpreter, function: Value, given: Arguments, scope: Scope) -> Value:
    """Returns what a call of ``function`` with ``given`` gives."""
    node = given.node
    if isinstance(function, Ref):
        return _of_reference(run, function.name, given, scope)
    if isinstance(function, Function):
        return functions.follow(run, function, given.values, given.named, node)
    if isinstance(function, ClassValue):
        return classes.instantiate(run, function.facts, given)
    if isinstance(function, Object):
        return module_calls.call(run, function, given)
    if isinstance(function, Member):
        return _of_member(run, function, given, scope)
    _lose(given)
    return UNKNOWN


def _of_reference(run: Interpreter, name: str, given: Arguments, scope: Scope) -> Value:
    if name.startswith("os."):
        return environment.call(run, name, given, scope)
    if name.startswith("builtins."):
        return builtin_calls.call(run, name.removeprefix("builtins."), given, scope)
    if name.startswith("numpy."):
        for operand in given.tensors():
            if operand.tensor.where.kind == "gpu" and not run.forgiving:
                run.tell(ToNumpy(given.node, run.functions, tensor=operand.tensor))
        return UNKNOWN
    if name in ("argparse.Namespace", "types.SimpleNamespace"):
        return Object(State(name, attributes=dict(given.named)), run.regions)
    if name == "argparse.ArgumentParser":
        return Object(State(name), run.regions)
    if name == "dataclasses.fields":
        return classes.fields(given.values[0]) if given.values else UNKNOWN
    if name.startswith("copy."):
        first = given.values[0] if given.values else UNKNOWN
        return copied(first) if isinstance(first, Tensor | Object | Sequence | Table) else UNKNOWN
    if name == "functools.partial" and given.values:
        return Partial(given.values[0], tuple(given.values[1:]), tuple(given.named.items()))
    if name in ("itertools.chain", "itertools.chain.from_iterable") and given.values:
        return Sequence(None, join_all([element_of(each) for each in given.values]))
    if name.rpartition(".")[2] in _NAMESPACES:
        return containers.namespace(name, given)
    if name == "torch.Tensor.to" or name.startswith("torch.Tensor."):
        return UNKNOWN
    if name.startswith(("torch.", "torch_", "torchvision.")):
        found = library_calls.known(run, name, given)
        if found is None and name.startswith("torch.distributed."):
            _lose(given)
        return found if found is not None else torch_calls.call(run, name, given)
    found = library_calls.known(run, name, given)
    if found is None:
        _lose(given)
    return UNKNOWN if found is None else found


def _lose(given: Arguments) -> None:
    for value in (*given.values, *given.named.values()):
        lose(value)


def _of_member(run: Interpreter, function: Member, given: Arguments, scope: Scope) -> Value:
    holder, name = function.holder, function.name
    if isinstance(holder, Tensor):
        return tensor_calls.call(run, holder, name, given)
    if isinstance(holder, Const) and isinstance(holder.value, str) and name == "format":
        text = holder.value
        for value in given.values:
            text = text.replace("{}", arithmetic.slot(value), 1)
        return arithmetic.read_text(text if "{" not in text else f"{text}\0", run.source.shown(given.node))
    if isinstance(holder, Const) and isinstance(holder.value, str):
        return arithmetic.text_method(holder.value, name, given.values)
    if isinstance(holder, ClassValue):
        return library_calls.loaded(run, f"{holder.facts.name}.{name}", given) if name == "from_pretrained" else UNKNOWN
    if isinstance(holder, Object):
        found = library_calls.method(run, holder, name, given)
        return found if found is not None else module_calls.method(run, holder, name, given)
    if isinstance(holder, Sequence) and name in ("append", "extend", "insert", "add"):
        target = given.node.func
        value = given.values[-1] if given.values else UNKNOWN
        if name == "extend":
            value = element_of(value)
        if isinstance(target, ast.Attribute):
            known = holder.items is not None and name == "append" and not run.regions and not run.uncounted
            items = (*holder.items, value) if known and holder.items is not None else None
            joined = value if holder.items == () else join_all([holder.any(), value])
            containers.change(run, target.value, Sequence(items, joined), scope)
        return NONE
    if isinstance(holder, Parameters) and name in ("values", "items", "keys"):
        return Sequence(None) if name == "keys" else Parameters(holder.model, name == "items")
    if isinstance(holder, Table):
        if name in ("get", "pop", "setdefault") and given.values:
            return _looked_up(run, holder, name, given, scope)
        if name == "update" and given.values and isinstance(given.values[0], Table):
            target = given.node.func
            if isinstance(target, ast.Attribute):
                added = given.values[0]
                merged = dict(holder.items) | dict(added.items)
                whole = holder.whole and added.whole and not run.regions
                containers.change(run, target.value, Table(tuple(merged.items()), whole, holder.rest), scope)
            return NONE
        if name in ("values", "items", "keys"):
            return containers.view_of(holder, name)
    return tensor_calls.of_generator(run, holder, name) if holder is not UNKNOWN else UNKNOWN


def _looked_up(run: Interpreter, holder: Table, name: str, given: Arguments, scope: Scope) -> Value:
    """``table.get(key, default)`` and its like."""
    key, default = given.values[0], given.values[1] if len(given.values) > 1 else NONE
    target = given.node.func
    found = holder.rest if holder.rest is not None and not is_known(key) else UNKNOWN
    if isinstance(key, Const) and is_known(key):
        there = any(each == key.value for each, _ in holder.items)
        found = holder.get(key.value) if there else default if holder.whole else UNKNOWN
    if name == "setdefault" and isinstance(target, ast.Attribute) and isinstance(key, Const) and is_known(key):
        filled = dict(holder.items)
        filled.setdefault(key.value, default)
        containers.change(run, target.value, Table(tuple(filled.items()), holder.whole, holder.rest), scope)
    return found


def discard(run: Interpreter, node: ast.Call, value: Value, scope: Scope) -> None:
    """A call that is a statement: a tensor's ``to`` gives a copy, and nobody keeps it."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("to", "cuda", "cpu"):
        return
    target = node.func.value
    if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        holder = run.value(target, scope)
        known = isinstance(holder, Tensor) and holder.how != "given"
        if known and isinstance(holder, Tensor) and isinstance(value, Tensor) and holder.where != value.where:
            run.tell(Discarded(node, run.functions, tensor=holder, target=target))
