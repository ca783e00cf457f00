"""What Python's own functions give."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devsan.doctor.source import arithmetic, device_join, functions, loops, members, modules
from devsan.doctor.source.definitions import ClassValue, Function
from devsan.doctor.source.events import TensorInput
from devsan.doctor.source.objects import Object, assign, element_of
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import (
    NONE,
    NUMBER,
    UNKNOWN,
    Const,
    Device,
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
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter

_LONGEST = 64  # of a range that is gone through


def call(run: Interpreter, name: str, given: Arguments, scope: Scope) -> Value:
    """Returns what ``name(...)`` gives."""
    first = given.values[0] if given.values else UNKNOWN
    if name in ("int", "float", "len", "round", "abs", "bool", "ord", "id", "hash", "max", "min"):
        return _number(name, first, given)
    if name == "str" and len(given.values) == 1:
        text = arithmetic.slot(first)
        return UNKNOWN if "\0" in text else Const(text)
    if name == "range":
        return _range(given)
    if name in ("list", "tuple", "sorted", "reversed", "set", "iter"):
        return _listed(name, first) if given.values else Sequence(())
    if name == "enumerate":
        return _numbered(first)
    if name == "zip":
        return _zipped(given) if given.whole else _transposed(given)
    if name == "map" and len(given.values) == 2:
        return _mapped(run, given)
    if name == "next":
        if isinstance(first, Parameters) and len(given.values) > 1 and not modules.has_parameters(first.model):
            return given.values[1]
        return modules.first_parameter(first) if given.values else UNKNOWN
    if name == "sum" and given.values:
        return _sum(run, first, given)
    if name == "isinstance" and len(given.values) == 2:
        return _is_instance(first, given.values[1])
    if name in ("getattr", "hasattr", "setattr") and len(given.values) > 1:
        return _attribute(run, name, first, given)
    if name == "dict":
        items = dict(first.items) if isinstance(first, Table) else {}
        whole = given.whole and (not given.values or (isinstance(first, Table) and first.whole))
        return Table(tuple({**items, **given.named}.items()), whole)
    return UNKNOWN


def _number(name: str, first: Value, given: Arguments) -> Value:
    if name in ("abs", "max", "min") and isinstance(first, Tensor):
        return first if name == "abs" else UNKNOWN
    if name == "len":
        items = loops.listed(first)
        return NUMBER if items is None or not items else Const(len(items))
    if name in ("max", "min"):
        values = [each.value for each in given.values if isinstance(each, Const) and type(each.value) is int]
        return Const((max if name == "max" else min)(values)) if len(values) == len(given.values) > 1 else NUMBER
    known = isinstance(first, Const) and is_known(first) and isinstance(first.value, int | float)
    if known and name in ("int", "abs", "bool") and isinstance(first, Const):
        return Const(int(first.value) if name == "int" else abs(first.value) if name == "abs" else bool(first.value))
    return NUMBER


def _range(given: Arguments) -> Value:
    bounds = [each.value for each in given.values if isinstance(each, Const) and type(each.value) is int]
    if bounds and len(bounds) == len(given.values) <= 3 and 0 not in bounds[2:]:
        rounds_of = range(*bounds)
        if len(rounds_of) <= _LONGEST:
            return Sequence(tuple(Const(each) for each in rounds_of))
    return Sequence(None, NUMBER)


def _listed(name: str, first: Value) -> Value:
    items = loops.listed(first)
    if items is None or name == "set":
        return Sequence(None, element_of(first) if items is None else join_all(items))
    if name == "reversed":
        items = items[::-1]
    if name == "sorted":
        texts = [each.value for each in items if isinstance(each, Const) and isinstance(each.value, str)]
        return (
            Sequence(tuple(map(Const, sorted(texts)))) if len(texts) == len(items) else Sequence(None, join_all(items))
        )
    return Sequence(tuple(items))


def _numbered(first: Value) -> Value:
    items = loops.listed(first)
    if items is None:
        return Sequence(None, Sequence((NUMBER, element_of(first))))
    return Sequence(tuple(Sequence((Const(number), each)) for number, each in enumerate(items)))


def _zipped(given: Arguments) -> Value:
    lists = [loops.listed(each) for each in given.values]
    known = [each for each in lists if each is not None]
    if known and len(known) == len(lists):
        return Sequence(tuple(Sequence(pair) for pair in zip(*known, strict=False)))
    if known and all(len(each) == len(known[0]) for each in known):
        # As many as are known: the others are taken to have as many.
        return Sequence(tuple(
            Sequence(tuple(
                each[number] if each is not None else element_of(value)
                for each, value in zip(lists, given.values, strict=True)
            ))
            for number in range(len(known[0]))
        ))  # fmt: skip
    return Sequence(None, Sequence(tuple(element_of(each) for each in given.values)))


def _transposed(given: Arguments) -> Value:
    """``zip(*rows)``: a list for each column, where it is known what a row is."""
    row = given.values[0] if len(given.values) == 1 else UNKNOWN
    if isinstance(row, Sequence) and row.items is not None:
        return Sequence(tuple(Sequence(None, each) for each in row.items))
    return Sequence(None)


def _mapped(run: Interpreter, given: Arguments) -> Value:
    function, items = given.values[0], loops.listed(given.values[1])
    if function == Ref("builtins.str") and items is not None:
        texts = [arithmetic.slot(each) for each in items]
        return Sequence(tuple(UNKNOWN if "\0" in text else Const(text) for text in texts))
    if not isinstance(function, Function):
        return Sequence(None)
    each = items if items else [element_of(given.values[1])]
    made = [functions.follow(run, function, [value], {}, given.node) for value in each]
    return Sequence(tuple(made)) if items else Sequence(None, made[0])


def _sum(run: Interpreter, first: Value, given: Arguments) -> Value:
    items = loops.listed(first)
    if not items:
        return element_of(first)
    tensors = [each for each in items if isinstance(each, Tensor)]
    at = given.nodes[0]
    places = at.elts if isinstance(at, ast.List | ast.Tuple) and len(at.elts) == len(tensors) else [at] * len(tensors)
    return device_join.meet(
        run, given.node, [TensorInput(each, place) for each, place in zip(tensors, places, strict=True)]
    )


def _is_instance(value: Value, kinds: Value) -> Value:
    asked = kinds.items if isinstance(kinds, Sequence) and kinds.items is not None else (kinds,)
    names = [each.name for each in asked if isinstance(each, Ref)]
    if isinstance(value, Object) and value.state.facts is not None:
        known = [each.facts for each in asked if isinstance(each, ClassValue)]
        if any(each.node is facts.node for each in known for facts in (value.state.facts, *value.state.facts.bases)):
            return Const(True)
        return UNKNOWN
    if len(names) != len(asked):
        return UNKNOWN
    if isinstance(value, Object) and value.state.type.startswith("torch.nn.") and value.state.facts is None:
        plain = {f"torch.nn.{name.rpartition('.')[2]}" for name in names if name.startswith("torch.nn.")}
        return Const(value.state.type in plain) if plain and "torch.nn.Module" not in plain else UNKNOWN
    kind = (
        "Tensor" if isinstance(value, Tensor) and value.how not in ("loaded", "batch", "outputs")
        else "dict" if isinstance(value, Table) else "number" if isinstance(value, Const) and value != NONE else ""
    )  # fmt: skip
    if not kind:
        return UNKNOWN
    last = [name.rpartition(".")[2] for name in names]
    if kind == "Tensor":
        return Const(any(name.endswith("Tensor") for name in last)) if set(last) <= _PLAIN else UNKNOWN
    if kind == "dict" and set(last) <= _PLAIN:
        return Const(any(name in ("dict", "Mapping", "MutableMapping") for name in last))
    return Const(False) if set(last) <= {"Tensor", "list", "tuple", "dict", "Mapping"} else UNKNOWN


_PLAIN = {"Tensor", "list", "tuple", "dict", "Mapping", "MutableMapping", "Sequence", "str", "int", "float", "bool"}


def _attribute(run: Interpreter, name: str, first: Value, given: Arguments) -> Value:
    label = given.values[1]
    text = label.value if isinstance(label, Const) and is_known(label) else None
    if name == "hasattr":
        known = isinstance(first, Object) and text in first.state.attributes
        return Const(True) if known else UNKNOWN
    if name == "setattr":
        if not isinstance(first, Object):
            return NONE
        if isinstance(text, str) and len(given.values) > 2:
            assign(first, text, given.values[2], run.is_certain(first))
        else:
            first.state.uncertain = True
        return NONE
    if not isinstance(text, str) or isinstance(first, Ref | Device) or not isinstance(first, Object):
        return UNKNOWN
    if text not in first.state.attributes and first.state.facts is None and not first.state.opaque:
        return UNKNOWN
    node = ast.copy_location(ast.Attribute(given.nodes[0], text, ast.Load()), given.node)
    found = members.of_object(run, first, node)
    return UNKNOWN if not isinstance(found, Tensor | Object | Function | Const | Sequence | Table) else found
