"""Averages of weights (EMA, SWA): what keeps a tensor for each parameter of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.tensors import is_module, is_tensor, memory_of, placement_of
from devsan.introspect.frames.values import is_a, own_dict
from devsan.introspect.models.models import Tree, members
from devsan.introspect.models.referrers import holds
from devsan.introspect.models.registry import ATTRIBUTE, Registry

_WORDS = ("ema", "averag", "polyak", "swa")


def is_average(frames: Sequence[Frame], tensor: Any, registry: Registry, together: Sequence[object]) -> bool:
    """Returns whether an average of weights in the variables of ``frames`` keeps ``tensor`` for a parameter.

    The name of a class says what may be one. That it averages weights, the tensor has to show: what a quantizer
    averages is named alike, and belongs to no parameter.

    Args:
        registry: of the program's models.
        together: the values of all operands.
    """
    for frame in frames:
        holder = frame.scope.locals.get("self")
        name = type(holder).__name__.lower()
        if any(word in name for word in _WORDS) and not name.startswith("sema"):
            keys = list(_keys_of(holder, tensor))
            if keys and _is_for_parameter(tensor, keys, registry, together):
                return True
    return False


def _keys_of(holder: Any, tensor: Any) -> Iterator[str]:
    """Yields the names by which ``holder`` keeps ``tensor``: a path in a module, a key of a dict; "" for any other."""
    for held in (*own_dict(holder).values(), *members(holder, "_modules").values()):
        if is_module(held):
            for path, name, each, _ in Tree(held, "").tensors():
                if holds(each, tensor):
                    yield f"{path}.{name}" if path else name
        elif is_a(held, dict):
            for key, value in list(dict.items(held)):
                if holds(value, tensor, 2):
                    yield key if isinstance(key, str) else ""
        elif holds(held, tensor):
            yield ""


def _is_for_parameter(tensor: Any, keys: Sequence[str], registry: Registry, together: Sequence[object]) -> bool:
    shape = _shape_of(tensor)
    if shape is None:
        return False
    for other in together:  # it meets the parameter itself
        if is_tensor(other) and other is not tensor and _shape_of(other) == shape and _is_weight(other, registry):
            return True
    names = {_letters(key) for key in keys if key}
    for tree in registry.trees:
        elements = []
        for path, name, each, is_buffer in tree.tensors():
            if memory_of(each) == memory_of(tensor) is not None:
                continue
            its = _shape_of(each)
            if its == shape and _letters(f"{path}.{name}") in names:
                return True
            elements += [] if is_buffer or its is None else [prod(its)]
        if len(elements) > 1 and shape == (sum(elements),):  # all of them in one row
            return True
    return False


def _is_weight(value: Any, registry: Registry) -> bool:
    home = registry.home_of(value)
    return (home is not None and home.kind != ATTRIBUTE) or type(value).__name__ == "Parameter"


def _shape_of(tensor: Any) -> tuple[int, ...] | None:
    placement = placement_of(tensor)
    return placement.shape if placement is not None else None


def _letters(path: str) -> str:
    """The path of a weight without what a wrapper adds, and without dots: a buffer may not have one in its name."""
    return "".join(letter for letter in path.removeprefix("module.") if letter.isalnum())
