"""Pinned memory that the host reads without an operator: by ``numpy``, ``tolist`` and pickling, as ``torch.save`` does.

An array of numpy is a view: it may be taken while a copy is under way, and read after the program has waited. It was
surely taken too early if it goes away before the copy was waited for.
"""

from __future__ import annotations

import functools
import sys
import weakref
from typing import Any

from devsan import _core
from devsan.cuda.patches import Patches

_patches = Patches()
_views: dict[int, tuple[weakref.ref[Any], _core.HostRead]] = {}  # by the array's id


def begin() -> None:
    """Has what tensors hand out without an operator seen."""
    kind: Any = sys.modules["torch"].Tensor
    _patches.set(kind, "numpy", _lending(kind.numpy))  # numpy's own functions ask for it as well
    for method in (kind.tolist, kind.__reduce_ex__):
        _patches.set(kind, method.__name__, _reading(method))


def end() -> None:
    """Has nothing seen any more. A second call does nothing."""
    _patches.undo()
    _views.clear()


def _reading(method: Any) -> Any:
    @functools.wraps(method)
    def read(self: Any, *args: Any, **words: Any) -> Any:
        met = _core.begin_host_read(self, f"Tensor.{method.__name__}")
        if met is not None:
            met.end()
        return method(self, *args, **words)

    return read


def _lending(method: Any) -> Any:
    @functools.wraps(method)
    def lent(self: Any, *args: Any, **words: Any) -> Any:
        array = method(self, *args, **words)
        met = _core.begin_host_read(self, "Tensor.numpy")
        if met is not None:
            key = id(array)
            _views[key] = weakref.ref(array, lambda _: _end(key)), met
        return array

    return lent


def _end(key: int) -> None:
    view = _views.pop(key, None)
    if view is not None:
        view[1].end()
