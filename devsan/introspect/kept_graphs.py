"""Losses and outputs that one variable keeps with the autograd graphs of the steps before: what these graphs hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from devsan.introspect.autograd_graph import LARGEST, parents_of, saved_by

_SEVERAL = 3  # passes over one parameter: fewer are pairs and views of one step
_ARITHMETIC = frozenset({"AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0"})


def saved_by_several_passes(tensors: Iterable[Any]) -> list[Any]:
    """Returns the tensors that the graphs of ``tensors`` hold; none unless they are several passes over one parameter.

    Passes have no node in common but the parameters: layers of one pass, and branches of one model, have. A sum of
    losses is taken apart.
    """
    seen: set[Any] = set()
    passes: list[tuple[list[Any], set[Any]]] = []
    for root in _terms(tensors):
        if root in seen or len(seen) > LARGEST:
            continue
        nodes, parameters, is_apart = _graph(root, seen)
        seen.update(nodes)
        if is_apart:
            passes.append((nodes, parameters))
    runs: dict[Any, int] = {}
    for _, parameters in passes:
        for each in parameters:
            runs[each] = runs.get(each, 0) + 1
    repeated = {each for each, times in runs.items() if times >= _SEVERAL}
    return [
        saved for nodes, parameters in passes if parameters & repeated for node in nodes for saved in saved_by(node)
    ]


def _terms(tensors: Iterable[Any]) -> list[Any]:
    """The nodes of the graphs of ``tensors``, and of what they are sums of."""
    found: list[Any] = []
    waiting = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    while waiting and len(found) < LARGEST:
        node = waiting.pop()
        if type(node).__name__ in _ARITHMETIC:
            waiting += parents_of(node)
        elif not hasattr(node, "variable"):
            found.append(node)
    return found


def _graph(root: Any, others: set[Any]) -> tuple[list[Any], set[Any], bool]:
    """The nodes under ``root``, the parameters that they end at, and whether none is in ``others``."""
    nodes = {root: None}
    parameters: set[Any] = set()
    is_apart = True
    waiting = [root]
    while waiting and len(nodes) < LARGEST:
        for parent in parents_of(waiting.pop()):
            if hasattr(parent, "variable"):
                parameters.add(parent)
            elif parent in others:
                is_apart = False
            elif parent not in nodes:
                nodes[parent] = None
                waiting.append(parent)
    return list(nodes), parameters, is_apart
