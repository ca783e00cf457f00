"""Who holds the memory of a GPU: the names of live tensors, by which the core sorts its blocks.

What the memory was at the moment of an error, the core has kept (Exhaustion in core/memory/out_of_memory.h): the stack
is unwound when a report is made, and the tensors of its temporaries are gone. It keeps what there was at the peak, too,
while a run file is written (NOTE [The moment of the peak] in core/memory/peak_watch.h).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from devsan import core
from devsan.blocks.checkpointed import is_checkpointed
from devsan.introspect.frames.chain import Failure
from devsan.introspect.frames.error_patterns import Kind
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.tensors import is_tensor, own_part, plain_attributes
from devsan.introspect.frames.values import is_a, own_dict
from devsan.introspect.kept_graphs import saved_by_several_passes
from devsan.introspect.models.heap import instances_of, live_models
from devsan.introspect.models.optimizers import states_of
from devsan.introspect.models.registry import Registry
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.introspect.saved_activations import saved_activations

Named = tuple[Any, "core.HolderKind", str]

_MANY = 4096  # elements of one container
_DEEP = 2  # containers in containers


def held_memory(
    failure: Failure, frames: Sequence[Frame], registry: Registry, optimizers: Sequence[Any], reader: ProvenanceReader
) -> core.HeldMemory | None:
    """Returns who held the memory when ``failure`` was raised; None for another failure, and for a real GPU.

    Args:
        failure: what happened.
        frames: of the traceback, outermost first.
        registry: the models.
        optimizers: the optimizers that the frames lead to.
        reader: of placements.
    """
    if failure.sentence.kind is not Kind.MEMORY:
        return None
    named = [*_of_models(registry), *_of_optimizers(optimizers, registry), *_of_caches(), *_of_variables(frames),
             *_of_passes(frames, registry, reader)]  # fmt: skip
    held = core.held_memory(failure.message, [(own_part(tensor), kind, name) for tensor, kind, name in named])
    if held is not None:
        held.parts = [_with_places(part, reader) for part in held.parts]
        held.checkpoints = _checkpoints(registry, str(held.device))
    return held


def _checkpoints(registry: Registry, device: str) -> bool:
    """Whether a model that is trained there does: a frozen one beside it, a teacher, says nothing of it."""
    return any(
        any(map(is_checkpointed, tree.modules.values()))
        and any(tensor.requires_grad and str(tensor.device) == device for _, _, tensor, _ in tree.tensors())
        for tree in registry.trees
    )


def peaks() -> list[core.PeakMemory]:
    """Returns who held the memory of each GPU when the most was held; looks at the models that are alive now.

    What was freed since is there under what computed or placed it, unless an earlier call has named it: results of
    operators under the module that ran.
    """
    with plain_attributes():
        registry = Registry(live_models())
        base = getattr(sys.modules.get("torch.optim"), "Optimizer", None)
        optimizers = instances_of(base) if isinstance(base, type) else []
        named = [*_of_models(registry), *_of_optimizers(optimizers, registry), *_of_caches()]
        reader = ProvenanceReader()
        found = core.peaks([(own_part(tensor), kind, name) for tensor, kind, name in named], _modules(registry))
        for peak in found:
            peak.parts = [_with_places(part, reader) for part in peak.parts]
            events = reader.from_placement(peak.placement) if peak.placement else []
            peak.stack = list(events[0].stack) if events else []
    return found


def _modules(registry: Registry) -> dict[int, str]:
    """The name of each module by its id; a root has that of its class."""
    return {
        id(tree.modules[path]): name or type(tree.root).__name__
        for tree, names in zip(registry.trees, registry.alike, strict=True)
        for path, name in names.items()
    }


def _of_models(registry: Registry) -> Iterator[Named]:
    kinds = core.HolderKind
    for tree, names in zip(registry.trees, registry.alike, strict=True):
        for path, name, tensor, is_buffer in tree.tensors():
            full = f"{names[path]}.{name}" if path else name
            yield tensor, kinds.BUFFER if is_buffer else kinds.PARAMETER, full
            gradient = None if is_buffer else _gradient_of(tensor)
            if gradient is not None:
                yield gradient, kinds.GRADIENT, f"{full}.grad"


def _of_optimizers(optimizers: Sequence[Any], registry: Registry) -> Iterator[Named]:
    kinds = core.HolderKind
    for optimizer in optimizers:
        for parameter, key, tensor in states_of(optimizer):
            home = registry.home_of(parameter)
            holder = registry.alike[home.tree].get(home.holder, home.holder) if home is not None else ""
            path = ".".join(filter(None, (holder, home.name))) if home is not None else "a parameter"
            if home is None:  # DeepSpeed's optimizers train copies of the weights, flat or in float32
                yield parameter, kinds.PARAMETER, f"a parameter of {type(optimizer).__name__}"
            yield tensor, kinds.OPTIMIZER_STATE, f"{key} of {path}"
            gradient = _gradient_of(parameter)
            if gradient is not None:
                yield gradient, kinds.GRADIENT, f"{path}.grad"


def _of_caches() -> Iterator[Named]:
    """The keys and values of earlier tokens, in the layers of transformers' caches (cache_utils.CacheLayerMixin)."""
    base = getattr(sys.modules.get("transformers.cache_utils"), "CacheLayerMixin", None)
    for layer in instances_of(base) if isinstance(base, type) else ():
        for name in ("keys", "values"):
            tensor = own_dict(layer).get(name)
            if is_tensor(tensor):
                yield tensor, core.HolderKind.CACHE, f"{name} of {type(layer).__name__}"


def _gradient_of(parameter: Any) -> Any:
    try:
        gradient = parameter.grad if parameter.is_leaf else None
    except Exception:  # a subclass that does not say
        return None
    return gradient if is_tensor(gradient) else None


def _of_variables(frames: Sequence[Frame]) -> Iterator[Named]:
    """The tensors of variables, innermost first; those in a list or a dictionary of the program under its name."""
    kinds = core.HolderKind
    for frame in reversed(frames):
        inside = "" if frame.code.co_name == "<module>" else f" in {frame.function}"
        is_programs = frame.whose is Whose.PROGRAM
        kept: list[tuple[str, list[Any]]] = []
        for name, value in _variables(frame) if frame.whose is not Whose.HIDDEN else ():
            held: list[Any] = []
            if is_tensor(value):
                held = [value]
                yield value, kinds.UNKNOWN, f"`{name}`{inside}"
            elif is_programs and is_a(value, list, dict):
                held = list(_tensors_in(value, _DEEP))
                yield from ((tensor, kinds.COLLECTED, f"`{name}`{inside}") for tensor in held)
            if is_programs:
                kept.append((f"`{name}`", saved_by_several_passes(held)))
        for names, tensors in _together(kept):
            yield from ((tensor, kinds.HISTORY, f"{names}{inside}") for tensor in tensors)


def _together(kept: Sequence[tuple[str, list[Any]]]) -> Iterator[tuple[str, list[Any]]]:
    """What each variable keeps; those that keep the same, as one with all their names: each has to let it go."""
    joined: list[tuple[list[str], dict[int, Any]]] = []
    for name, tensors in kept:
        if tensors:
            own = {id(own_part(each)): each for each in tensors}
            same = next((each for each in joined if own.keys() & each[1].keys()), None)
            if same is None:
                joined.append(([name], own))
            else:
                same[0].append(name)
                same[1].update(own)
    for names, held in joined:
        yield ", ".join(names), list(held.values())


def _of_passes(frames: Sequence[Frame], registry: Registry, reader: ProvenanceReader) -> Iterator[Named]:
    """What operators computed and the pass that failed keeps; what it was given has no module, nor has a variable."""
    unknown = core.HolderKind.UNKNOWN
    roots = (value for frame in frames for _, value in _variables(frame) if is_tensor(value))
    for tensor, path in saved_activations(roots, registry):
        if reader.origin_of(tensor)[1]:
            yield tensor, unknown, path


def _variables(frame: Frame) -> list[tuple[str, Any]]:
    """The variables of a frame, and the attributes of ``self``: a trainer keeps its losses there."""
    names = frame.scope.locals
    return [*names.items(), *((f"self.{name}", value) for name, value in own_dict(names.get("self")).items())]


def _tensors_in(value: Any, deep: int) -> Iterator[Any]:
    if is_tensor(value):
        yield value
    elif deep and is_a(value, dict, list, tuple):
        held: Iterable[Any] = dict.values(value) if is_a(value, dict) else value
        for each in list(islice(held, _MANY)):
            yield from _tensors_in(each, deep - 1)


def _with_places(part: core.MemoryPart, reader: ProvenanceReader) -> core.MemoryPart:
    """Says the lines of the placements that stand for tensors without a name."""
    holders = list(part.largest)
    for holder in holders:
        events = reader.from_placement(holder.placement) if holder.placement else []
        site = events[0].site if events else None
        if site is not None and site.file:
            holder.where = f"{site.file.rpartition('/')[2]}:{site.span.line}"
    part.largest = holders
    return part
