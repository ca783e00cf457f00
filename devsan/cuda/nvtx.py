"""NVTX: ranges for a profiler that is not there. They nest and count, and mark nothing."""

from __future__ import annotations

import itertools
import threading
from types import ModuleType


class Nvtx(ModuleType):
    """``torch._C._nvtx`` (torch/csrc/cuda/shared/nvtx.cpp)."""

    def __init__(self) -> None:
        super().__init__("torch._C._nvtx", "NVTX under emulation.")
        self._depth = threading.local()
        self._ids = itertools.count(1)

    def rangePushA(self, message: str) -> int:
        """Opens a range; returns its depth, from 0 on."""
        depth = getattr(self._depth, "value", 0)
        self._depth.value = depth + 1
        return int(depth)

    def rangePop(self) -> int:
        """Closes the innermost range; returns its depth, or -2 where none is open (NVTX_NO_PUSH_POP_TRACKING)."""
        depth = getattr(self._depth, "value", 0) - 1
        self._depth.value = max(depth, 0)
        return int(depth) if depth >= 0 else -2

    def rangeStartA(self, message: str) -> int:
        """Opens a range that another thread may close; returns its number."""
        return next(self._ids)

    def rangeEnd(self, number: int) -> None:
        """Closes the range ``number``."""

    def markA(self, message: str) -> None:
        """Marks a moment."""

    def deviceRangeStart(self, message: str, stream: int) -> object:
        """Opens a range on a stream."""
        return object()

    def deviceRangeEnd(self, handle: object, stream: int) -> None:
        """Closes it."""
