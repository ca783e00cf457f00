"""The tensors that a module and those below it have registered, read without asking the modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import dict_in


def tensors_below(root: object) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the parameters and buffers of a tree of modules with the names that lead to them, the nearest first.

    ``named_parameters()`` can be overridden, and leaves out buffers.
    """
    waiting: list[tuple[tuple[str, ...], object]] = [((), root)]
    seen: set[int] = set()
    while waiting:
        path, module = waiting.pop(0)
        if id(module) in seen:
            continue
        seen.add(id(module))
        # By dict's own methods: what ZeRO-3 keeps parameters in gathers the one that it is asked for, in all ranks.
        for kept in ("_parameters", "_buffers"):
            for name, held in list(dict.items(dict_in(module, kept))):
                if is_tensor(held):
                    yield (*path, name), held
        for name, child in list(dict.items(dict_in(module, "_modules"))):
            if is_module(child):
                waiting.append(((*path, name), child))
