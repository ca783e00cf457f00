"""What a DataLoader gives: its dataset's rows, collated; always on the host."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import functions
from devsan.doctor.source.definitions import Function
from devsan.doctor.source.objects import Object
from devsan.doctor.source.places import HOST
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import NONE, NUMBER, UNKNOWN, Const, Sequence, Table, Tensor, Value

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter


def of_loader(run: Interpreter, given: Arguments) -> Value | None:
    """Returns a batch of ``DataLoader(...)``; None where nothing is known of it."""
    data, collate = given.get("dataset", 0), given.get("collate_fn", 6)
    row = _row(run, data, given)
    if collate is not None and collate != NONE:
        if not isinstance(collate, Function):
            return None
        made = functions.follow(run, collate, [Sequence(None, row)], {}, given.node)
        found = loaded(made)
        return None if found is UNKNOWN else found
    if isinstance(data, Object) and data.state.type == "torch.utils.data.TensorDataset":
        inner = data.state.attributes["tensors"]
        return Tensor(HOST, False, how="loaded") if isinstance(inner, Tensor) and inner.where == HOST else None
    found = collated(row)
    if found is not UNKNOWN:
        return found
    if isinstance(data, Object) and data.state.facts is not None:
        text = run.source.segment(data.state.facts.node)
        return None if "cuda" in text or "device" in text else Tensor(HOST, False, how="loaded")
    return None


def _row(run: Interpreter, data: Value | None, given: Arguments) -> Value:
    if isinstance(data, Sequence):
        return data.any()
    if isinstance(data, Tensor):
        return replace(data, scalar=False)
    if isinstance(data, Object) and data.state.facts is not None:
        found = data.state.facts.method("__getitem__")
        if found is not None:
            owner, definition = found
            around = owner.scope.parent if isinstance(owner.scope, Scope) else None
            return functions.follow(run, Function(definition, around, data, owner), [NUMBER], {}, given.node)
    return UNKNOWN


def collated(row: Value) -> Value:
    """Returns a batch of rows, as torch's own function makes it: tensors are stacked, numbers become tensors."""
    if isinstance(row, Tensor):
        return replace(row, scalar=False, how="loaded", calls=(), peers=()) if row.where == HOST else UNKNOWN
    if isinstance(row, Const) and isinstance(row.value, int | float):
        return Tensor(HOST, False, how="loaded")
    if isinstance(row, Sequence) and row.items:
        return Sequence(tuple(collated(each) for each in row.items))
    if isinstance(row, Table) and row.whole and row.items:
        return Table(tuple((key, collated(each)) for key, each in row.items))
    return UNKNOWN


def loaded(value: Value) -> Value:
    """Returns what a function that collates gave: its tensors came from the loader."""
    if isinstance(value, Tensor):
        return replace(value, how="loaded", calls=(), peers=()) if value.where == HOST else UNKNOWN
    if isinstance(value, Sequence):
        items = None if value.items is None else tuple(loaded(each) for each in value.items)
        return Sequence(items, loaded(value.element))
    if isinstance(value, Table):
        return replace(value, items=tuple((key, loaded(each)) for key, each in value.items))
    if isinstance(value, Object) and value.state.facts is not None and not value.state.is_module:
        value.state.attributes = {name: loaded(each) for name, each in value.state.attributes.items()}
        return value
    return value if isinstance(value, Const) else UNKNOWN
