"""Modules of torch.nn and optimizers: how they are made, and placed by a map."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source import factories, members, torch_names
from devsan.doctor.source.objects import Object, State, element_of, is_registered, parts
from devsan.doctor.source.places import HOST, Where
from devsan.doctor.source.values import UNKNOWN, Parameters, Sequence, Table, Tensor, Value

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter


def of_torch_nn(run: Interpreter, name: str, given: Arguments) -> Value:
    """Returns what ``torch.nn.name(...)`` makes."""
    if name in ("Parameter", "Buffer"):
        data = given.values[0] if given.values else UNKNOWN
        return replace(data, how="parameter", plain="") if isinstance(data, Tensor) else Tensor(HOST, how="parameter")
    if not name[:1].isupper():
        return UNKNOWN
    asked = given.get("device")
    where = run.process.default if asked is None else factories.place(run, asked, given.node)
    made = Object(State(f"torch.nn.{name}", is_module=True, where=where, origin=given.node), run.regions)
    made.state.weights = name in torch_names.WEIGHTED
    if name in torch_names.CONTAINERS:
        values = given.values
        if name != "Sequential" and len(values) == 1:
            values = [values[0]]
            if isinstance(values[0], Sequence):
                values = list(values[0].items if values[0].items is not None else [values[0].element])
        given_list = given.values[0] if given.values and name != "Sequential" else UNKNOWN
        made.state.children = [value for value in values if isinstance(value, Object)]
        made.state.uncertain = not given.whole or len(made.state.children) != len(values)
        made.state.counted = not made.state.uncertain and not (
            isinstance(given_list, Sequence) and given_list.items is None
        )
        if name == "ModuleDict" and isinstance(given_list, Table):
            made.state.attributes = {str(key): value for key, value in given_list.items}
            made.state.uncertain, made.state.counted = not given_list.whole, given_list.whole
    weight = given.get("weight")
    if isinstance(weight, Tensor) and name.endswith("Loss"):
        # Whoever makes the loss in the program's own lines gives it data, as a batch is.
        made.state.attributes["weight"] = replace(weight, how="") if run.owner is None else weight
        made.state.buffers.add("weight")
    return made


def optimizer(run: Interpreter, name: str, given: Arguments) -> Value:
    """``torch.optim.X(model.parameters())``."""
    first = given.get("params", 0)
    if isinstance(first, Parameters) and isinstance(first.model, Object) and run.is_certain(first.model):
        first.model.state.optimizer = first.model.state.optimizer or given.node
    return Object(State(name, opaque=True, origin=given.node), run.regions)


def has_parameters(model: Object) -> bool:
    """Returns whether a module has parameters, as far as that is known; buffers are none."""
    for _, part in parts(model):
        if part.state.opaque or part.state.weights or part.state.uncertain:
            return True
        for name, value in part.state.attributes.items():
            own = isinstance(value, Tensor) and name not in part.state.buffers
            if own and isinstance(value, Tensor) and value.how in ("parameter", "weight"):
                return True
    return False


def first_parameter(value: Value) -> Value:
    """Returns what ``next(...)`` of a model's parameters gives."""
    if not isinstance(value, Parameters):
        return element_of(value)
    model = value.model
    where = members.device_of(model, "the device of its first parameter")
    return Tensor(where, None, None, how="placed")


def place_by_map(model: Object, entries: tuple[tuple[str, Where], ...]) -> None:
    """Places the parts of a model as a map says, with a hook on each."""
    for path, part in list(parts(model)):
        if path:
            part.state.root = (model, path)
        for key, where in entries:
            if path == key or path.startswith(f"{key}.") or key == "":
                part.state.where = where
                part.state.hooked = path == key or part.state.hooked or not part.state.children
                for name, value in part.state.attributes.items():
                    if isinstance(value, Tensor) and is_registered(part, name, value):
                        part.state.attributes[name] = replace(value, where=where)
