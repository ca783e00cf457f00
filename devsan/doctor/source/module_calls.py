"""Modules: how they are made, moved and called."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import (
    containers,
    device_join,
    factories,
    functions,
    replicas,
    tensor_calls,
    third_party,
    torch_names,
)
from devsan.doctor.source.definitions import Function
from devsan.doctor.source.events import LoadedMoved, Move, StateLoaded, TensorInput
from devsan.doctor.source.objects import (
    Moved,
    Object,
    element_of,
    lose,
    mapped,
    move,
    parts,
    place_of,
)
from devsan.doctor.source.places import HOST, NOWHERE
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.source_file import unwritten
from devsan.doctor.source.values import (
    NONE,
    UNKNOWN,
    Const,
    Parameters,
    Sequence,
    Table,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter

# Functions around a module that is called while a function or module is followed for itself: each has its own turn.
_DEEPEST = 3
_SAME = frozenset({
    "half", "float", "double", "bfloat16", "eval", "train", "requires_grad_", "type", "share_memory", "apply",
})  # fmt: skip


def method(run: Interpreter, holder: Object, name: str, given: Arguments) -> Value:
    """Returns what ``holder.name(...)`` gives, for a method that is not the program's own."""
    state = holder.state
    if state.type == "torch.load":
        if name in ("to", "cuda"):
            run.tell(LoadedMoved(given.node, run.functions, load=state.origin or given.node))
        return UNKNOWN
    if name == "load_state_dict" and state.type.startswith("torch.optim.") and state.origin is not None:
        run.tell(StateLoaded(given.node, run.functions, optimizer=state.origin))
    if not state.is_module:
        return UNKNOWN
    if name in ("to", "cuda", "cpu", "to_empty"):
        return _moved(run, holder, "to" if name == "to_empty" else name, given)
    if name == "_apply":
        lose(holder)
        return holder
    if name in _SAME:
        return holder
    if name in ("parameters", "buffers", "named_parameters", "named_buffers"):
        return Parameters(holder, name.startswith("named"))
    if name in ("children", "modules", "named_children", "named_modules") and not state.opaque:
        return _below(holder, name)
    if name == "state_dict":
        return Parameters(holder, True)
    if name in ("register_buffer", "register_parameter", "add_module", "register_module") and len(given.values) > 1:
        label, value = given.values[0], given.values[1]
        if isinstance(label, Const) and isinstance(label.value, str):
            if isinstance(value, Tensor):
                value = replace(value, plain="")
            elif value != NONE and name in ("register_buffer", "register_parameter"):
                value = Tensor(NOWHERE, None)
            state.attributes[label.value] = value
            state.buffers.add(label.value)
        elif isinstance(value, Object):
            state.children.append(value)  # under a name that is computed
        else:
            state.uncertain = True
        return UNKNOWN
    if name in ("append", "extend", "insert") and given.values:
        value = given.values[-1]
        added = element_of(value) if name == "extend" else value
        if isinstance(added, Object):
            state.children.append(added)
        state.counted = state.counted and name == "append" and not run.uncounted and not run.regions
        return holder
    if name in ("items", "values", "keys") and state.type == "torch.nn.ModuleDict":
        table = Table(tuple(state.attributes.items()), state.counted and not state.uncertain)
        return containers.view_of(table, name)
    if name in ("register_forward_hook", "register_forward_pre_hook") and given.values:
        _hook(run, holder, name, given)
        return UNKNOWN
    if name == "forward" or (name in ("update", "forward") and state.type.startswith("torchmetrics.")):
        return call(run, holder, given)
    if name == "generate" and state.opaque:
        third_party.call(run, holder, given)
    return UNKNOWN


def _below(holder: Object, name: str) -> Value:
    """The modules of a module, by ``children()`` and its like, in their order."""
    if name.endswith("modules"):
        found = list(parts(holder))
    else:
        named = [(label, value) for label, value in holder.state.attributes.items() if isinstance(value, Object)]
        named += [(str(number), each) for number, each in enumerate(holder.state.children) if isinstance(each, Object)]
        found = [(label, each) for label, each in named if each.state.is_module]
    counted = all(each.state.counted or not each.state.children for _, each in parts(holder))
    if name.startswith("named"):
        pairs = [Sequence((Const(label), each)) for label, each in found]
        return Sequence(tuple(pairs)) if counted and pairs else Sequence(None, pairs[0] if pairs else UNKNOWN)
    modules = [each for _, each in found]
    return Sequence(tuple(modules)) if counted and modules else Sequence(None, modules[0] if modules else UNKNOWN)


def _hook(run: Interpreter, holder: Object, name: str, given: Arguments) -> None:
    function = given.values[0]
    if not isinstance(function, Function) or run.owner is not None:
        return
    where = holder.state.where if holder.state.opaque else place_of(holder)
    output = Tensor(where, False, None, how="placed")
    values: list[Value] = [holder, Sequence((output,))]
    if name == "register_forward_hook":
        values.append(output)
    with run.region():
        functions.follow(run, function, values, {}, given.node)


def _moved(run: Interpreter, holder: Object, name: str, given: Arguments) -> Value:
    where = tensor_calls.target(run, name, given)
    if where is None:
        return holder
    factories.uses(run, given.node, where, run.source.shown(given.node))
    state = holder.state
    found = mapped(holder)
    run.tell(
        Move(given.node, run.functions, module=holder, where=where, map=found, wrapped=state.wrapped,
             optimizer=None if place_of(holder) == where else state.optimizer, guarded=run.guards > 0)
    )  # fmt: skip
    state.moved.append(Moved(where, given.node))
    certain = run.is_certain(holder)
    if state.map is None:
        move(holder, where if certain else NOWHERE)
    return holder


def call(run: Interpreter, holder: Object, given: Arguments, skip: int = 0) -> Value:
    """Returns what ``module(...)`` gives."""
    state = holder.state
    operands = given.tensors()[skip:] if skip else given.tensors()
    if state.type == "transformers.tokenizer":
        return third_party.encoded(given)
    if state.wrapped == "DataParallel" and not skip:
        return replicas.call(run, holder, given, call)
    if state.opaque and state.is_module and state.where.kind != "part" and state.type != "torch.load":
        return third_party.call(run, holder, given)
    if state.type == "torch.load" or state.opaque or state.wrapped not in ("", "accelerate"):
        if state.opaque and state.is_module and state.where.kind == "part":
            return Tensor(state.where, None, None, how="placed")
        return UNKNOWN
    if state.facts is None:
        return _of_library(run, holder, operands, given) if state.is_module else UNKNOWN
    found = state.facts.method("forward" if state.is_module else "__call__")
    if found is None or (not run.running and len(run.frames) > _DEEPEST):
        return UNKNOWN
    owner, definition = found
    values, named = given.values[skip:], given.named
    if state.wrapped == "accelerate":
        # In ranks it is DistributedDataParallel, which brings its inputs: only what skipped prepare() is checked.
        values, named = [_brought(each) for each in values], {name: _brought(each) for name, each in named.items()}
    if state.hooked:
        where = state.where
        values = [replace(each, where=where) if isinstance(each, Tensor) else each for each in values]
        named = {name: replace(each, where=where) if isinstance(each, Tensor) else each for name, each in named.items()}
    around = owner.scope.parent if isinstance(owner.scope, Scope) else None
    return functions.follow(run, Function(definition, around, holder, owner), values, named, given.node)


def _brought(value: Value) -> Value:
    foreign = isinstance(value, Tensor) and value.where == HOST and value.how != "loaded"
    return replace(value, where=NOWHERE) if foreign and isinstance(value, Tensor) else value


def _of_library(run: Interpreter, holder: Object, operands: list[TensorInput], given: Arguments) -> Value:
    state = holder.state
    short = state.type.removeprefix("torch.nn.")
    if short == "Sequential":
        return _chain(run, holder, operands, given)
    if state.hooked and state.where != NOWHERE:
        return Tensor(state.where, False, None, how="placed")
    if short.endswith("Loss"):
        counted = state.attributes.get("weight")
        held = [TensorInput(counted, given.called)] if isinstance(counted, Tensor) else []
        result = device_join.meet(run, given.node, [*operands, *held])
        return replace(result, scalar=True) if isinstance(result, Tensor) else result
    if not state.weights:
        return (
            device_join.meet(run, given.node, operands[:1], checked=False) if short in torch_names.SHAPED else UNKNOWN
        )
    weight = TensorInput(Tensor(state.where, False, None, how="weight", plain=state.plain), given.called)
    if not operands:
        return replace(weight.tensor, how="placed")
    joined = device_join.meet(run, given.node, [weight, *operands])
    if isinstance(joined, Tensor) and joined.where == NOWHERE:
        return joined
    return Tensor(state.where, False, None, how="placed")


def _chain(run: Interpreter, holder: Object, operands: list[TensorInput], given: Arguments) -> Value:
    if holder.state.uncertain or not operands:
        return UNKNOWN
    value: Value = operands[0].tensor
    holders, said = run.source.shown(given.called), operands[0].node
    for number, child in enumerate(holder.state.children):
        if not isinstance(child, Object) or not isinstance(value, Tensor):
            return UNKNOWN
        called = unwritten(given.called, f"{holders}[{number}]")
        value = call(run, child, _given(given, called, value, said))
        said = unwritten(said, f"{called.text}({run.source.shown(said)})")
    return value


def _given(given: Arguments, called: ast.expr, value: Tensor, node: ast.AST) -> Arguments:
    """The arguments of a call inside: one tensor."""
    inside = object.__new__(type(given))
    inside.node, inside.called = given.node, called
    inside.values, inside.nodes = [value], [node]  # type: ignore[list-item]
    inside.named, inside.named_nodes, inside.whole, inside.named_whole = {}, {}, True, True
    return inside
