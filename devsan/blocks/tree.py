"""Which modules are blocks: what stays in one piece when a model is put on several GPUs.

NOTE [Blocks] A block holds residual connections: cut, it adds tensors of two GPUs. transformers names the classes
(``_no_split_modules``); elsewhere the elements of the outermost ModuleList or Sequential are blocks. What stands beside
them is a block where nothing in it has to be divided: an embedding, a norm, a head.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Part = tuple[str, Any]
"""A path, and the module, parameter or buffer that is there."""

_LISTS = ("ModuleList", "Sequential")


def parts_of(model: Any) -> list[Part]:
    """Returns the blocks of ``model`` in the order of their registration: what a map of it has as entries."""
    return list(_Division(_whole_classes(model)).parts("", model))


def _whole_classes(model: Any) -> frozenset[str]:
    """The classes that transformers keeps in one piece, if modules of them are there."""
    named: set[str] = set()
    for module in model.modules():
        named |= set(getattr(module, "_no_split_modules", None) or ())
    return frozenset(type(module).__name__ for module in model.modules()) & frozenset(named)


class _Division:
    def __init__(self, whole: frozenset[str]) -> None:
        self._whole = whole

    def parts(self, path: str, module: Any, is_element: bool = False) -> Iterator[Part]:
        if self._is_block(module, is_element):
            if not path or _has_tensors(module) or not list(module.children()):
                yield path, module
            return
        prefix = f"{path}." if path else ""
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None and name not in module._non_persistent_buffers_set:
                yield prefix + name, tensor
        elements = type(module).__name__ in _LISTS
        for name, child in module.named_children():
            yield from self.parts(prefix + name, child, elements)

    def _is_block(self, module: Any, is_element: bool) -> bool:
        if type(module).__name__ in self._whole:
            return True
        inner = [each for each in module.modules() if each is not module]
        if any(type(each).__name__ in self._whole for each in inner):
            return False
        if is_element:
            return True
        lists = (*inner, module) if type(module).__name__ in _LISTS else inner
        return not any(type(each).__name__ in _LISTS and len(each) > 1 for each in lists)


def _has_tensors(module: Any) -> bool:
    return next(module.parameters(), None) is not None or next(module.buffers(), None) is not None
