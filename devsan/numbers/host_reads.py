"""The numbers that a program takes out of tensors: what it prints, logs and decides by."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any

from devsan.installed import is_library

_METHODS = (
    "item", "tolist", "numpy", "__array__", "__float__", "__int__", "__bool__", "__index__", "__format__", "__repr__",
)  # fmt: skip

_DEVSAN = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "")


class HostReads:
    """Tells of each read by the program's own code: what libraries read depends on the device they find.

    Args:
        told: called with the tensor, before it is read, on the main thread.
    """

    def __init__(self, told: Callable[[Any], None]) -> None:
        self._told = told
        self._own: dict[CodeType, bool] = {}
        self._inside = False  # __repr__ reads, and float() of a large tensor raises

    def install(self) -> None:
        """Stands before the methods of ``torch.Tensor`` by which a number leaves a tensor."""
        import torch

        for name in _METHODS:
            setattr(torch.Tensor, name, self._around(getattr(torch.Tensor, name)))

    def _around(self, method: Any) -> Any:
        def read(tensor: Any, *rest: Any, **named: Any) -> Any:
            if self._inside or threading.current_thread() is not threading.main_thread() or not self._is_own():
                return method(tensor, *rest, **named)
            self._inside = True
            try:
                self._told(tensor)
                return method(tensor, *rest, **named)
            finally:
                self._inside = False

        read.__name__, read.__doc__ = getattr(method, "__name__", "read"), method.__doc__
        return read

    def _is_own(self) -> bool:
        code = sys._getframe(2).f_code
        if code not in self._own:
            path = code.co_filename
            is_devsan = os.path.realpath(path).startswith(_DEVSAN)
            self._own[code] = not (path.startswith("<frozen") or is_devsan or is_library(path))
        return self._own[code]
