"""The nodes of an autograd graph: what they lead to, and what they keep for the backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devsan.introspect.frames.tensors import is_tensor

LARGEST = 1 << 16
"""Nodes, at most, that are looked at."""


def parents_of(node: Any) -> list[Any]:
    """Returns the nodes whose results ``node`` was given."""
    return [parent for parent, _ in node.next_functions if parent is not None]


def saved_by(node: Any) -> Iterator[Any]:
    """Yields what ``node`` keeps, but what hooks have packed: to unpack it may compute (torch.utils.checkpoint)."""
    for name in (each for each in dir(type(node)) if each.startswith("_raw_saved_")):
        kept = getattr(node, name)
        for each in kept if isinstance(kept, (list, tuple)) else (kept,):
            if getattr(each, "unpack_hook", None) is None and is_tensor(data := getattr(each, "data", None)):
                yield data
