"""What an expression can be: the values that the interpreter computes with.

Only what decides about devices is kept. Everything else is UNKNOWN, and nothing is said about what is unknown.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field, replace
from typing import Any

from devsan.doctor.source.places import NOWHERE, Where, join


@dataclass(frozen=True)
class Value:
    """Anything; by itself, nothing is known."""


UNKNOWN = Value()


@dataclass(frozen=True)
class Const(Value):
    """A number, a text, True, None."""

    value: Any


NONE = Const(None)
# Some number: which one is not known. NaN is like no other, and no text or index has it.
NUMBER = Const(math.nan)


def is_known(value: Value) -> bool:
    """Returns whether ``value`` is a constant that is known."""
    return isinstance(value, Const) and value.value is not NUMBER.value


@dataclass(frozen=True)
class Ref(Value):
    """Something that was imported, by its dotted name: "torch.nn.Linear"."""

    name: str


@dataclass(frozen=True)
class Device(Value):
    """A device, or the text of one."""

    where: Where


@dataclass(frozen=True)
class Tensor(Value):
    """A tensor.

    Attributes:
        where: its place.
        scalar: whether it has no dimensions (such a CPU tensor may join those of a GPU); None is not known.
        made: the expression that created it or moved it to its place.
        calls: numbers of the calls that were active when it was created; none is the file itself.
        peers: parameters of the function that created it, which were tensors elsewhere.
        how: "made" by a factory, "moved" by a call, "given" to a module, "weight" of a module, "computed" from weights,
            "parameter" of the program, "copied" from a model's parameters, "loaded" by a DataLoader, a "batch" that a
            framework has put where the module is, "placed" by a module that computed it, "outputs" of a library's
            model.
        by_default: the default device, which the program has changed, decided.
        optional: on some path it is None.
        plain: name of the attribute that holds it, of one that is held.
        leaf: somebody asked for its gradient.
        kept: somebody remembers it for later calls (a cache): where.
        of: the model that it is a parameter of, of one that a loop over ``parameters()`` gave.
    """

    where: Where
    scalar: bool | None = False
    made: ast.AST | None = field(default=None, compare=False)
    calls: tuple[int, ...] = field(default=(), compare=False)
    peers: tuple[str, ...] = field(default=(), compare=False)
    how: str = ""
    plain: str = ""
    leaf: bool = field(default=False, compare=False)
    by_default: bool = field(default=False, compare=False)
    optional: bool = field(default=False, compare=False)
    kept: str = field(default="", compare=False)
    of: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class Sequence(Value):
    """A list or tuple; ``items`` is None where only the kind of its elements is known."""

    items: tuple[Value, ...] | None
    element: Value = UNKNOWN

    def any(self) -> Value:
        """Returns what one element is."""
        return self.element if self.items is None else join_all(list(self.items))


@dataclass(frozen=True)
class Table(Value):
    """A dictionary; ``whole`` where no other keys are in it, ``rest`` what was stored under a key that is not known."""

    items: tuple[tuple[Any, Value], ...]
    whole: bool = True
    rest: Value | None = None

    def get(self, key: Any) -> Value:
        """Returns the value of a key."""
        return next((value for name, value in self.items if name == key), UNKNOWN)

    def any(self) -> Value:
        """Returns what one of the values is."""
        values = [value for _, value in self.items]
        return join_all(values if self.rest is None else [*values, self.rest]) if self.whole else UNKNOWN


@dataclass(frozen=True)
class Generator(Value):
    """A torch.Generator."""

    where: Where
    made: ast.AST = field(compare=False)


@dataclass(frozen=True)
class Parameters(Value):
    """What ``model.parameters()`` and its like give."""

    model: Any  # objects.Object
    named: bool = False


def join_values(one: Value, other: Value) -> Value:
    """Returns what is known of a value that two paths of the program made."""
    if one == other:
        return one
    # A use of None as a tensor is an error of its own: what is used is the other one.
    if one == NONE and isinstance(other, Tensor):
        return replace(other, optional=True)
    if other == NONE and isinstance(one, Tensor):
        return replace(one, optional=True)
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return replace(
            one,
            where=join(one.where, other.where),
            scalar=one.scalar if one.scalar == other.scalar else None,
            how=one.how if one.how == other.how else "",
            plain=one.plain if one.plain == other.plain else "",
            optional=one.optional or other.optional,
        )
    if isinstance(one, Device) and isinstance(other, Device):
        return Device(NOWHERE)
    if isinstance(one, Const) and isinstance(other, Const) and _is_number(one) and _is_number(other):
        return NUMBER
    if isinstance(one, Table) and isinstance(other, Table):
        keys = dict.fromkeys([key for key, _ in (*one.items, *other.items)])
        same = len(keys) == len(one.items) == len(other.items)
        joined = tuple((key, _in_either(one, other, key)) for key in keys)
        return Table(joined, one.whole and other.whole and same, one.rest or other.rest)
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        if one.items is not None and other.items is not None and len(one.items) == len(other.items):
            return Sequence(tuple(join_values(*each) for each in zip(one.items, other.items, strict=True)))
        return Sequence(None, join_values(one.any(), other.any()))
    return UNKNOWN


def _in_either(one: Table, other: Table, key: Any) -> Value:
    known = [value for table in (one, other) for name, value in table.items if name == key]
    return known[0] if len(known) == 1 else join_values(known[0], known[1])


def _is_number(value: Const) -> bool:
    return isinstance(value.value, int | float) and not isinstance(value.value, bool)


def join_all(values: list[Value]) -> Value:
    """Returns what is known of one of ``values``."""
    if not values:
        return UNKNOWN
    joined = values[0]
    for value in values[1:]:
        joined = join_values(joined, value)
    return joined
