"""Objects of the program that change: modules, models of libraries, optimizers, instances of its own classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from devsan.doctor.source.definitions import ClassFacts, Identity
from devsan.doctor.source.places import HOST, NOWHERE, Where
from devsan.doctor.source.values import (
    UNKNOWN,
    Parameters,
    Sequence,
    Table,
    Tensor,
    Value,
    join_values,
)


@dataclass(frozen=True)
class Map:
    """How a device map places a model.

    Attributes:
        node: the call that was given the map.
        spread: over several devices; False for a map that names one.
        text: the map, as written.
        entries: module path to place, of a map that is a dictionary.
        sure: False where the program may also do without.
    """

    node: ast.AST
    spread: bool
    text: str
    entries: tuple[tuple[str, Where], ...] = ()
    sure: bool = True


@dataclass(frozen=True)
class Moved:
    """A call that moved a module: ``where`` to, and the call."""

    where: Where
    node: ast.AST


@dataclass(frozen=True, eq=False)
class Object(Identity):
    """An instance. Its state changes; ``regions`` says under which uncertain branches it was made."""

    state: State
    regions: tuple[int, ...] = ()


@dataclass
class State:
    """What is known of an instance.

    Attributes:
        type: "torch.nn.Linear", "Net", "accelerate.Accelerator".
        facts: its class, if that is in this file.
        is_module: a torch.nn.Module.
        attributes: those that were assigned.
        buffers: names of the attributes that move with a module.
        children: of a Sequential or ModuleList.
        counted: these are all, in their order.
        plain: the attribute of a module that holds it in a plain list or dictionary, which moves nothing.
        where: of the weights of a library's module that has no class here.
        weights: it has such weights.
        opaque: a library's: what its attributes are is not known.
        map: the device map that placed it.
        hooked: hooks bring its inputs.
        moved: the moves of it, in order.
        wrapped: "DataParallel", "DistributedDataParallel", "accelerate", "deepspeed", ...
        ids: the GPUs that a wrapper was given.
        root: the model that this is a part of, and the path in it.
        uncertain: something may have happened to it that was not followed.
        optimizer: the call that built an optimizer of its parameters.
        origin: the call that made it.
    """

    type: str
    facts: ClassFacts | None = None
    is_module: bool = False
    attributes: dict[str, Value] = field(default_factory=dict)
    buffers: set[str] = field(default_factory=set)
    children: list[Value] = field(default_factory=list)
    counted: bool = False
    plain: str = ""
    where: Where = HOST
    weights: bool = False
    opaque: bool = False
    map: Map | None = None
    hooked: bool = False
    moved: list[Moved] = field(default_factory=list)
    wrapped: str = ""
    ids: tuple[int, ...] = ()
    root: tuple[Object, str] | None = None
    uncertain: bool = False
    optimizer: ast.AST | None = None
    origin: ast.AST | None = None


def parts(module: Object) -> Iterator[tuple[str, Object]]:
    """Yields a module and the modules below it that are registered, with their paths."""
    waiting: list[tuple[str, Object]] = [("", module)]
    seen: set[int] = set()
    while waiting:
        path, each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield path, each
        named = [(name, value) for name, value in each.state.attributes.items() if _is_module(value)]
        named += [(str(number), value) for number, value in enumerate(each.state.children)]
        for name, value in named:
            if isinstance(value, Object) and value.state.is_module:
                waiting.append((f"{path}.{name}" if path else name, value))


def move(module: Object, where: Where) -> None:
    """Moves what a module has registered, as ``Module.to`` does: not what it holds as plain attributes.

    A class with an ``_apply`` of its own may move these, too: where they are is then not known.
    """
    for _, part in parts(module):
        part.state.where = where
        own = part.state.facts is not None and part.state.facts.method("_apply") is not None
        for name, value in part.state.attributes.items():
            registered = isinstance(value, Tensor) and is_registered(part, name, value)
            if isinstance(value, Tensor) and (registered or own):
                part.state.attributes[name] = replace(value, where=where if registered else NOWHERE)


def lose(value: Value) -> None:
    """What a function that is not followed may have placed is anywhere: ``fully_shard(model)``."""
    if isinstance(value, Object) and value.state.is_module:
        move(value, NOWHERE)


def places(module: Object) -> set[Where]:
    """Returns where the weights of a module and its parts are."""
    found = set()
    for _, part in parts(module):
        if part.state.weights or part.state.opaque:
            found.add(part.state.where)
        for name, value in part.state.attributes.items():
            if isinstance(value, Tensor) and is_registered(part, name, value):
                found.add(value.where)
    return found


def is_registered(holder: Object, name: str, value: Tensor) -> bool:
    """Returns whether a tensor moves with the module that has it."""
    return holder.state.is_module and (name in holder.state.buffers or value.how in ("parameter", "weight"))


def place_of(module: Object) -> Where:
    """Returns the one place of a module; NOWHERE if there are several, or none."""
    found = places(module)
    return found.pop() if len(found) == 1 else NOWHERE


def mapped(value: Value) -> Map | None:
    """Returns the map of the model that ``value`` is, or is a part of."""
    if not isinstance(value, Object):
        return None
    if value.state.map is None and value.state.root is not None:
        return value.state.root[0].state.map
    return value.state.map


def assign(holder: Object, name: str, value: Value, certain: bool) -> None:
    """Sets an attribute; in a branch that may not be taken, what was there before stays possible."""
    attributes = holder.state.attributes
    if not certain and name in attributes:
        value = join_values(attributes[name], value)
    attributes[name] = value


def element_of(value: Value) -> Value:
    """Returns what iterating over ``value`` gives."""
    if isinstance(value, Sequence):
        return value.any()
    if isinstance(value, Tensor):
        return value if value.how in ("loaded", "batch") else replace(value, scalar=None)
    if isinstance(value, Parameters) and isinstance(value.model, Object):
        where = place_of(value.model)
        element = Tensor(where, False, how="copied", of=value.model)
        return Sequence((UNKNOWN, element)) if value.named else element
    if isinstance(value, Object) and value.state.type == "torch.utils.data.DataLoader" and not value.state.uncertain:
        return value.state.attributes.get("element", UNKNOWN)
    if isinstance(value, Table):
        return UNKNOWN
    if isinstance(value, Object) and value.state.type == "torch.nn.ModuleDict":
        return UNKNOWN
    if isinstance(value, Object) and value.state.children:
        return value.state.children[0]
    return UNKNOWN


def copied(value: Value, made: dict[int, Value] | None = None) -> Value:
    """Returns what ``copy.deepcopy`` gives: other objects of the same state."""
    made = {} if made is None else made
    if isinstance(value, Sequence):
        items = None if value.items is None else tuple(copied(each, made) for each in value.items)
        return Sequence(items, copied(value.element, made))
    if isinstance(value, Table):
        return replace(value, items=tuple((key, copied(each, made)) for key, each in value.items))
    if not isinstance(value, Object):
        return value
    if id(value.state) not in made:
        state = replace(value.state, optimizer=None, moved=[], buffers=set(value.state.buffers))
        made[id(value.state)] = other = Object(state, value.regions)
        state.attributes = {name: copied(each, made) for name, each in value.state.attributes.items()}
        state.children = [copied(each, made) for each in value.state.children]
        return other
    return made[id(value.state)]


def _is_module(value: Value) -> bool:
    return isinstance(value, Object) and value.state.is_module
