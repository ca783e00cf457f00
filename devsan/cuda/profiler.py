"""``torch.profiler`` with ``ProfilerActivity.CUDA``, and NVTX.

Times of operators on the host stand for those of their kernels: core/emulate/runtime/timers answers for the events on
which torch's own fallback without CUPTI rests. NVTX's ranges are for a profiler that is not there: they nest and count,
and mark nothing.
"""

from __future__ import annotations

import itertools
import threading
from types import ModuleType
from typing import Any

import torch
import torch.autograd.profiler
import torch.profiler

from devsan.cuda.patches import Patches


def install(patches: Patches) -> None:
    """Makes torch say that it can profile CUDA, and its profiler take the way that needs no CUPTI."""
    supported = torch.autograd.profiler._supported_activities
    cuda = torch.profiler.ProfilerActivity.CUDA
    patches.set(torch.autograd, "_supported_activities", lambda: supported() | {cuda})
    patches.set(torch.autograd.profiler, "_supported_activities", lambda: supported() - {cuda})
    profile = torch.autograd.profiler.profile
    begin = profile.__init__

    def begin_on_host(self: Any, *args: Any, **options: Any) -> None:
        # That way measures a kernel at the operator that starts it, so that operators are needed even for CUDA alone.
        if options.get("use_device") == "cuda":
            options["use_cpu"] = True
        begin(self, *args, **options)

    patches.set(profile, "__init__", begin_on_host)


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
