"""Lists, dictionaries, comprehensions, indices."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import device_join, environment, members, memory, objects
from devsan.doctor.source.objects import Object, State
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import (
    UNKNOWN,
    Const,
    Ref,
    Sequence,
    Table,
    Tensor,
    Value,
    is_known,
    join_all,
    join_values,
)

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter


def read_list(run: Interpreter, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Value:
    """Returns what a list, tuple or set is."""
    items: list[Value] = []
    for each in node.elts:
        if isinstance(each, ast.Starred):
            value = run.value(each.value, scope)
            if not isinstance(value, Sequence) or value.items is None:
                return Sequence(None, join_all([*items, objects.element_of(value)]))
            items.extend(value.items)
        else:
            items.append(run.value(each, scope))
    return Sequence(tuple(items))


def read_dict(run: Interpreter, node: ast.Dict, scope: Scope) -> Value:
    """Returns what a dictionary is: its constant keys."""
    items: dict[object, Value] = {}
    whole = True
    for key, each in zip(node.keys, node.values, strict=True):
        value = run.value(each, scope)
        name = run.value(key, scope) if key is not None else None
        if isinstance(name, Const) and is_known(name):
            items[name.value] = value
        elif key is None and isinstance(value, Table):
            items.update(value.items)
            whole = whole and value.whole
        else:
            whole = False
    return Table(tuple(items.items()), whole)


def table_of(pairs: list[tuple[Value, Value]]) -> Table:
    """Returns the dictionary of keys and values."""
    items: dict[object, Value] = {}
    rest: list[Value] = []
    for key, value in pairs:
        if isinstance(key, Const) and is_known(key):
            items[key.value] = value
        else:
            rest.append(value)
    return Table(tuple(items.items()), not rest, join_all(rest) if rest else None)


def view_of(holder: Table, name: str) -> Value:
    """Returns the keys, values or items of a dictionary."""
    if holder.whole and holder.items:
        pairs = [(Const(key), value) for key, value in holder.items]
        if name == "items":
            return Sequence(tuple(Sequence(pair) for pair in pairs))
        return Sequence(tuple(pair[name == "values"] for pair in pairs))
    element = holder.any() if holder.rest is None else join_all([*(each for _, each in holder.items), holder.rest])
    return Sequence(None, UNKNOWN if name == "keys" else element if name == "values" else Sequence((UNKNOWN, element)))


def namespace(name: str, given: Arguments) -> Value:
    """Returns a dictionary of which the keys are attributes as well."""
    attributes = dict(given.named)
    first = given.values[0] if given.values else None
    if isinstance(first, Table):
        for key, value in first.items:
            attributes[str(key)] = namespace_of(name, value)
    elif first is not None and not attributes:
        return UNKNOWN
    return Object(State(name, attributes=attributes))


def namespace_of(name: str, value: Value) -> Value:
    """Returns a dictionary inside of one whose keys are attributes."""
    if not isinstance(value, Table):
        return value
    return Object(State(name, attributes={str(key): namespace_of(name, each) for key, each in value.items}))


def iterate(run: Interpreter, node: ast.expr, scope: Scope) -> Value:
    """Returns what a loop over ``node`` goes through: a value of which the rounds are the elements."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("tqdm", "trange", "track") and node.args:
            return iterate(run, node.args[0], scope)
    return run.value(node, scope)


def read_item(run: Interpreter, node: ast.Subscript, scope: Scope) -> Value:
    """Returns what ``holder[index]`` is."""
    holder = run.value(node.value, scope)
    index = run.value(node.slice, scope)
    if isinstance(holder, Ref) and holder.name == "os.environ":
        return environment.read(run, node, index)
    if isinstance(holder, Tensor):
        if holder.how in ("loaded", "batch"):
            return holder  # a field of a batch
        device_join.index(run, node, holder, index)
        slices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        # A slice keeps its dimension, None makes one; a number takes one away.
        keeps = any(isinstance(each, ast.Slice) or _is_none(each) for each in slices)
        return replace(holder, scalar=False if keeps else None, leaf=False)
    if isinstance(holder, Sequence):
        number = index.value if isinstance(index, Const) else None
        if holder.items is not None and isinstance(number, int) and -len(holder.items) <= number < len(holder.items):
            return holder.items[number]
        return _sliced(run, holder, node.slice, scope) if isinstance(node.slice, ast.Slice) else holder.any()
    if isinstance(holder, Table):
        if isinstance(index, Const) and any(name == index.value for name, _ in holder.items):
            return holder.get(index.value)
        values = [value for _, value in holder.items]
        if holder.rest is not None:
            return join_all([*values, holder.rest])
        return join_all(values) if holder.whole and not is_known(index) else UNKNOWN
    if isinstance(holder, Object):
        return members.item(holder, index)
    return UNKNOWN


def store(run: Interpreter, target: ast.Subscript, value: Value, scope: Scope) -> None:
    """``holder[index] = value``."""
    holder = run.value(target.value, scope)
    index = run.value(target.slice, scope)
    if isinstance(holder, Ref) and holder.name == "os.environ":
        environment.assign(run, target, index, value, scope)
    elif isinstance(holder, Tensor):
        device_join.index(run, target, holder, index)
    elif isinstance(holder, Table):
        known, rest, whole = dict(holder.items), holder.rest, holder.whole
        value = memory.marked(run, target, value)
        if isinstance(index, Const) and is_known(index):
            known[index.value] = value
        elif memory.names_a_device(run, target.slice, index):
            whole = False
        else:
            rest, whole = value if rest is None else join_values(rest, value), False
        change(run, target.value, Table(tuple(known.items()), whole, rest), scope)
    elif isinstance(holder, Object):
        _put(holder, index, value)
    elif isinstance(holder, Sequence):
        number = index.value if isinstance(index, Const) else None
        if holder.items is not None and type(number) is int and -len(holder.items) <= number < len(holder.items):
            items = list(holder.items)
            items[number] = value
            change(run, target.value, Sequence(tuple(items)), scope)
            return
        change(run, target.value, Sequence(None, join_values(holder.any(), value)), scope)


def _put(holder: Object, index: Value, value: Value) -> None:
    """``sequential[1] = module``."""
    number = index.value if isinstance(index, Const) else None
    children = holder.state.children
    if type(number) is int and -len(children) <= number < len(children) and isinstance(value, Object):
        children[number] = value
    elif isinstance(number, str) and holder.state.type == "torch.nn.ModuleDict":
        holder.state.attributes[number] = value
    elif holder.state.is_module:
        holder.state.uncertain = True


def change(run: Interpreter, target: ast.expr, value: Value, scope: Scope) -> None:
    """A list or dictionary has other contents."""
    if isinstance(target, ast.Name):
        scope.change(target.id, value)
    else:
        run.assign(target, value, scope)


def _sliced(run: Interpreter, holder: Sequence, node: ast.Slice, scope: Scope) -> Value:
    bounds = [None if each is None else run.value(each, scope) for each in (node.lower, node.upper, node.step)]
    if holder.items is None or not all(each is None or is_known(each) for each in bounds):
        return Sequence(None, holder.any())
    numbers = [each.value if isinstance(each, Const) else None for each in bounds]
    if not all(each is None or type(each) is int for each in numbers) or numbers[2] == 0:
        return Sequence(None, holder.any())
    return Sequence(holder.items[slice(*numbers)])


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
