"""Streams and events. The C++ guard does the work; these are the classes that torch.cuda's own derive from."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from devsan import _core
from devsan.cuda.refused import refuse

_pool_handles = itertools.count(1)
_CUDA = 1  # c10::DeviceType::CUDA
_GREATEST_PRIORITY = -3  # four priorities: c10::cuda::max_compile_time_stream_priorities


class StreamBase(torch.Stream):  # type: ignore[misc]
    """``torch._C._CudaStreamBase`` (torch/csrc/cuda/Stream.cpp)."""

    def __new__(
        cls, priority: int = 0, stream_id: int = 0, device_index: int = 0, device_type: int = 0, stream_ptr: int = 0
    ) -> Any:
        """A stream that exists (by its three numbers, or by its handle), or one from the current device's pool."""
        if stream_ptr:
            if priority:
                raise RuntimeError("Priority was explicitly set for a external stream")
            stream_id, device_index, device_type = _core.stream_of_handle(stream_ptr), _core.current_device(), _CUDA
        if stream_id or device_index or device_type:
            return super().__new__(cls, stream_id=stream_id, device_index=device_index, device_type=_CUDA)
        return super().__new__(cls, device=torch.device("cuda", torch._C._cuda_getDevice()), priority=priority)

    @property
    def cuda_stream(self) -> int:
        """The handle, as an integer; 0 for the default stream."""
        return _core.stream_handle(self.stream_id)

    @property
    def priority(self) -> int:
        """0, or negative for a more urgent stream."""
        return _core.stream_priority(self.stream_id)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority."""
        return 0, _GREATEST_PRIORITY

    def is_capturing(self) -> bool:
        """False: CUDA graphs are not emulated."""
        return False


class EventBase(torch.Event):  # type: ignore[misc]
    """``torch._C._CudaEventBase`` (torch/csrc/cuda/Event.cpp)."""

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> Any:
        """An event on the current device; it comes into being when it is first recorded."""
        return super().__new__(
            cls, device="cuda", enable_timing=enable_timing, blocking=blocking, interprocess=interprocess
        )

    @property
    def device(self) -> torch.device | None:
        """Where it was recorded; None before."""
        return super().device if self.event_id else None

    @property
    def cuda_event(self) -> int:
        """The handle, as an integer; 0 before the event is recorded."""
        handle: int = self.event_id
        return handle

    def elapsed_time(self, end_event: torch.Event) -> float:
        """Milliseconds from this event to ``end_event``."""
        return _core.elapsed_time(self, end_event)

    @classmethod
    def from_ipc_handle(cls, device: torch.device, handle: bytes) -> NoReturn:
        """Refuses."""
        refuse("events shared between processes are")

    def ipc_handle(self) -> NoReturn:
        """Refuses."""
        refuse("events shared between processes are")


def names() -> dict[str, Callable[..., Any]]:
    """The functions and classes, by their name in ``torch._C``."""
    return {
        "_CudaStreamBase": StreamBase,
        "_CudaEventBase": EventBase,
        "_cuda_getCurrentStream": lambda device: (_core.current_stream(_index(device)), _index(device), _CUDA),
        "_cuda_getDefaultStream": lambda device: (0, _index(device), _CUDA),
        "_cuda_getStreamFromExternal": lambda handle, device: (_core.stream_of_handle(handle), _index(device), _CUDA),
        "_cuda_getCurrentRawStream": _core.current_raw_stream,
        "_cuda_setStream": _set_stream,
        "_cuda_isCurrentStreamCapturing": lambda: False,
        "_graph_pool_handle": lambda: (0, next(_pool_handles)),
    }


def _index(device: int) -> int:
    return _core.current_device() if device < 0 else device


def _set_stream(stream_id: int = 0, device_index: int = 0, device_type: int = 0) -> None:
    """Also makes the stream's device the current one, as THCPModule_setStream_wrap does."""
    if _core.current_device() != device_index:
        _core.set_device(device_index)
    _core.set_stream(stream_id, device_index)
