"""Memory figures: torch's C++ functions over the simulated caching allocator (torch/csrc/cuda/Module.cpp)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from devsan import _core
from devsan.cuda.visible_devices import VARIABLE, visible_devices

_before_reset: dict[int, tuple[int, int]] = {}


class Memory:
    """The functions, and the little state that torch keeps beside its allocator."""

    def __init__(self) -> None:
        self._metadata = ""

    def names(self) -> dict[str, Callable[..., Any]]:
        """The functions, by their name in ``torch._C``."""
        return {
            "_cuda_emptyCache": _core.empty_cache,
            "_cuda_memoryStats": _core.memory_stats,
            "_cuda_resetAccumulatedMemoryStats": _core.reset_accumulated_memory_stats,
            "_cuda_resetPeakMemoryStats": _reset_peaks,
            "_cuda_hostMemoryStats": _core.host_memory_stats,
            "_cuda_resetAccumulatedHostMemoryStats": _core.reset_accumulated_host_memory_stats,
            "_cuda_resetPeakHostMemoryStats": _core.reset_peak_host_memory_stats,
            "_cuda_cudaHostAllocator": _core.host_allocator,
            "_cuda_getMemoryFraction": _core.memory_fraction,
            "_cuda_setMemoryFraction": _core.set_memory_fraction,
            "_cuda_getAllocatorBackend": lambda: "native",
            "_cuda_cudaCachingAllocator_raw_alloc": _core.raw_allocate,
            "_cuda_cudaCachingAllocator_raw_delete": _core.raw_free,
            "_cuda_cudaCachingAllocator_enable": lambda value: None,
            "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
            "_cuda_cudaCachingAllocator_set_allocator_settings": _core.update_allocator_settings,
            "_accelerator_setAllocatorSettings": _core.update_allocator_settings,
            "_cuda_ipc_collect": lambda: None,
            "_host_emptyCache": lambda: None,
            "_cuda_lock_mutex": lambda: None,  # torch 2.11: torch.cuda.memory._free_mutex
            "_cuda_unlock_mutex": lambda: None,
            "_cuda_memorySnapshot": _snapshot,
            "_cuda_record_memory_history": _record_history,
            "_cuda_record_memory_history_legacy": _record_history_legacy,
            "_cuda_isHistoryEnabled": _core.is_memory_history_recorded,
            "_cuda_allocationTraceback": lambda address: None,
            "_cuda_setMemoryMetadata": self._set_metadata,
            "_cuda_getMemoryMetadata": lambda: self._metadata,
            "_cuda_memoryMetadataSupported": lambda: True,
            "_cuda_annotateMemory": lambda *args: None,
        }

    def _set_metadata(self, metadata: str) -> None:
        self._metadata = metadata


def peaks_of(uuids: Sequence[str]) -> list[tuple[int, int, int]]:
    """Returns the most bytes that were allocated and reserved on each GPU, whatever the program has reset since.

    Args:
        uuids: of the machine's GPUs, whose numbers come first in what is returned: the program may see some of them.
    """
    numbers = visible_devices(os.environ.get(VARIABLE), uuids)
    return [(number, *peak) for number, peak in zip(numbers, _peaks(), strict=False)]


def _peaks() -> list[tuple[int, int]]:
    found = []
    for gpu, (_, _, allocated, reserved, _) in enumerate(_core.memory_now()):
        before = _before_reset.get(gpu, (0, 0))
        found.append((max(allocated, before[0]), max(reserved, before[1])))
    return found


def _reset_peaks(device: int) -> None:
    _before_reset.update(enumerate(_peaks()))
    _core.reset_peak_memory_stats(device)


def _snapshot(pool: Sequence[Any] | None = None) -> dict[str, Any]:
    """All segments of all devices. ``pool`` is an id of two numbers, maybe with whether traces are wanted."""
    include_traces = pool is None or len(pool) < 3 or bool(pool[2])
    devices = range(_core.device_count())
    return {
        "segments": [segment for device in devices for segment in _core.memory_segments(device)],
        "device_traces": [_core.memory_trace(device) if include_traces else [] for device in devices],
        "allocator_settings": _core.allocator_settings(),
        "external_annotations": [],
    }


def _record_history(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    *rest: Any,
) -> None:
    for name, value, allowed in (
        ("enabled", enabled, (None, "state", "all")),
        ("context", context, (None, "state", "alloc", "all")),
        ("stacks", stacks, ("python", "all")),
    ):
        if value not in allowed:  # torch/csrc/cuda/memory_snapshot.cpp
            choices = ", ".join(repr(each) for each in allowed)
            raise RuntimeError(f"expected {name} to be one of {choices}, got {value!r}")
    _core.record_memory_history(enabled is not None, max_entries if enabled == "all" else 1)


def _record_history_legacy(enabled: bool, record_context: bool = True, max_entries: int = 1, *rest: Any) -> None:
    _core.record_memory_history(enabled, max_entries)
