"""The optimizers of a failure: states that are not with their parameters, where they were built and loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from devsan import core
from devsan.introspect.frames.calls import only_call, only_write_into_state
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.tensors import is_tensor
from devsan.introspect.frames.values import dict_in, is_a, own_dict
from devsan.introspect.models.reachable import reachable
from devsan.introspect.models.referrers import parameters_of
from devsan.introspect.models.registry import Registry

if TYPE_CHECKING:
    from devsan.introspect.provenance.reader import ProvenanceReader

_STATES = 8  # of one optimizer that are told


def optimizers_in(frames: Sequence[Frame], search: bool) -> list[Any]:
    """Returns the optimizers that variables of ``frames`` hold; with ``search`` those that they lead to."""
    torch: Any = sys.modules.get("torch.optim")
    if torch is None:
        return []
    found: dict[int, Any] = {}
    for frame in frames:
        for value in list(frame.scope.locals.values()):
            held = own_dict(value).get("optimizer")
            found.update((id(each), each) for each in (value, held) if is_a(each, torch.Optimizer))
    if not found and search:
        found = {id(each): each for each in reachable(frames, torch.Optimizer, most=4)}
    return list(found.values())


def optimizer(living: Any, registry: Registry, reader: ProvenanceReader, frames: Sequence[Frame]) -> core.Optimizer:
    """Returns the core's Optimizer with the states that are not where their parameters are.

    That it was built is known from the program's text, when from its first state: it is older than that. The last
    ``load_state_dict`` is known from the states that it placed.
    """
    states: list[core.OptimizerState] = []
    events: list[core.Event] = []
    for parameter, key, value in states_of(living):
        if value.device == parameter.device or (value.dim() == 0 and value.device.type == "cpu"):
            continue  # a step counter may stay on the host
        home = registry.home_of(parameter)
        states.append(core.OptimizerState(
            key=key, parameter=home.path if home is not None else "", device=str(value.device),
            parameter_device=str(parameter.device),
        ))  # fmt: skip
        events.extend(reader.of(value)[:2])
        if len(states) == _STATES:
            break
    kind = type(living)
    module = "torch.optim" if kind.__module__.startswith("torch.optim") else kind.__module__
    trains_on = list(dict.fromkeys(str(parameter.device) for parameter in parameters_of(living)))
    found = core.Optimizer(type=f"{module}.{kind.__qualname__}", states=states, trains_on=trains_on)
    loaded = [event for event in events if _is_load(event)]
    made = [event.sequence for event in events if event.sequence and event not in loaded]
    place = only_call(frames, frozenset({kind.__name__})) if states else None
    if place is not None or made:
        stack = [place] if place is not None else []
        found.built = core.Event(kind=core.EventKind.MADE, op=found.type, stack=stack, sequence=min(made, default=0))
    if loaded:
        found.loaded = loaded[0]
    written = only_write_into_state(frames) if states else None
    if written is not None:
        found.written = written
    return found


def states_of(living: Any) -> Iterator[tuple[Any, str, Any]]:
    """Yields (parameter, key, tensor) of all that an optimizer keeps for its parameters."""
    kept = dict_in(living, "state")
    for parameter in parameters_of(living):
        state: Any = dict.get(kept, parameter)
        for key, value in list(dict.items(state)) if is_a(state, dict) else ():
            if is_tensor(value):
                yield parameter, str(key), value


def _is_load(event: core.Event) -> bool:
    return bool(event.kind == core.EventKind.LOADED or event.owner.mechanism == "Optimizer.load_state_dict")
