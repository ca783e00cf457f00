"""Which part of a model keeps an activation for its backward pass, as far as the autograd graph tells.

NOTE [Modules of nodes] Nothing is noted while the program runs: a report reads the graph that is there when memory runs
out. A node does not say which module made it. One that was given a parameter of a model, or that parameter in another
layout or dtype, is of the module that holds it. The nodes between two of these, in the order in which the forward pass
made them, are of what the paths of both have in common: a softmax between two projections is of the attention.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

from devsan.introspect.autograd_graph import LARGEST, parents_of, saved_by
from devsan.introspect.models.registry import PARAMETER, Registry

_Path = tuple[str, ...]
"""The number of the model, and the parts of a module's path in it."""

_LAYOUTS = frozenset({"TBackward0", "TransposeBackward0", "PermuteBackward0", "ViewBackward0", "ReshapeAliasBackward0",
                      "UnsafeViewBackward0", "ExpandBackward0", "UnsqueezeBackward0", "ToCopyBackward0"})  # fmt: skip


def saved_activations(tensors: Iterable[Any], registry: Registry) -> Iterator[tuple[Any, str]]:
    """Yields what the graphs of ``tensors`` keep, with the path of the part of a model that needs it.

    Alike parts have one path (``Registry.alike``). What belongs to no part is left out. See NOTE [Modules of nodes].
    """
    nodes = _in_order(tensors)
    for node, path in zip(nodes, _between(_given(nodes, registry)), strict=True):
        name = registry.alike[int(path[0])].get(".".join(path[1:]), "") if path else ""
        if name:
            yield from ((saved, name) for saved in saved_by(node))


def _in_order(tensors: Iterable[Any]) -> list[Any]:
    """The nodes of the graphs, but those of parameters, in the order in which they were made."""
    waiting = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    nodes = dict.fromkeys(waiting)
    while waiting and len(nodes) < LARGEST:
        for parent in parents_of(waiting.pop()):
            if parent not in nodes and not hasattr(parent, "variable"):
                nodes[parent] = None
                waiting.append(parent)
    return sorted(nodes, key=lambda node: node._sequence_nr())


def _given(nodes: Iterable[Any], registry: Registry) -> list[_Path | None]:
    """The module of each node that was given a parameter; None for the others."""
    laid_out: dict[Any, _Path] = {}
    found: list[_Path | None] = []
    for node in nodes:
        paths = (_holder(parent, registry) or laid_out.get(parent) for parent in parents_of(node))
        path = next((path for path in paths if path is not None), None)
        if path is not None and type(node).__name__ in _LAYOUTS:
            laid_out[node] = path
        found.append(path)
    return found


def _holder(node: Any, registry: Registry) -> _Path | None:
    home = registry.home_of(node.variable) if hasattr(node, "variable") else None
    return (str(home.tree), *home.holder.split(".")) if home is not None and home.kind == PARAMETER else None


def _between(paths: list[_Path | None]) -> list[_Path]:
    """What is known of each node: its own path, or what the nearest before and behind it have in common."""
    behind = reversed(list(_latest(reversed(paths))))
    return [_common(first, last) for first, last in zip(_latest(paths), behind, strict=True)]


def _common(first: _Path, last: _Path) -> _Path:
    return tuple(part for part, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))


def _latest(paths: Iterable[_Path | None]) -> Iterator[_Path]:
    latest: _Path = ()
    for path in paths:
        latest = latest if path is None else path
        yield latest
