"""Losses and outputs that one variable keeps with the autograd graphs of the steps before: what these graphs hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from devsan.introspect.frames.tensors import is_tensor

_SEVERAL = 3  # passes over one parameter: fewer are pairs and views of one step
_LARGEST = 1 << 16  # nodes of all graphs of one variable
_ARITHMETIC = frozenset({"AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0"})


def saved_by_several_passes(tensors: Iterable[Any]) -> list[Any]:
    """Returns the tensors that the graphs of ``tensors`` hold; none unless they are several passes over one parameter.

    Passes have no node in common but the parameters: layers of one pass, and branches of one model, have. A sum of
    losses is taken apart.
    """
    seen: set[Any] = set()
    passes: list[tuple[list[Any], set[Any]]] = []
    for root in _terms(tensors):
        if root in seen or len(seen) > _LARGEST:
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
    return [saved for nodes, parameters in passes if parameters & repeated for node in nodes for saved in _saved(node)]


def _terms(tensors: Iterable[Any]) -> list[Any]:
    """The nodes of the graphs of ``tensors``, and of what they are sums of."""
    found: list[Any] = []
    waiting = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    while waiting and len(found) < _LARGEST:
        node = waiting.pop()
        if type(node).__name__ in _ARITHMETIC:
            waiting += _parents(node)
        elif not hasattr(node, "variable"):
            found.append(node)
    return found


def _graph(root: Any, others: set[Any]) -> tuple[list[Any], set[Any], bool]:
    """The nodes under ``root``, the parameters that they end at, and whether none is in ``others``."""
    nodes = {root: None}
    parameters: set[Any] = set()
    is_apart = True
    waiting = [root]
    while waiting and len(nodes) < _LARGEST:
        for parent in _parents(waiting.pop()):
            if hasattr(parent, "variable"):
                parameters.add(parent)
            elif parent in others:
                is_apart = False
            elif parent not in nodes:
                nodes[parent] = None
                waiting.append(parent)
    return list(nodes), parameters, is_apart


def _parents(node: Any) -> list[Any]:
    return [parent for parent, _ in node.next_functions if parent is not None]


def _saved(node: Any) -> Iterator[Any]:
    """What ``node`` keeps, but what hooks have packed: to unpack it may compute (torch.utils.checkpoint)."""
    for name in (each for each in dir(type(node)) if each.startswith("_raw_saved_")):
        kept = getattr(node, name)
        for each in kept if isinstance(kept, (list, tuple)) else (kept,):
            if getattr(each, "unpack_hook", None) is None and is_tensor(data := getattr(each, "data", None)):
                yield data
