"""``torch.cuda.cudart()``: the functions of the CUDA runtime that torch/csrc/cuda/shared/cudart.cpp binds."""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar

from devsan import _core

_MESSAGES = {0: "no error", 1: "invalid argument", 2: "out of memory", 100: "no CUDA-capable device is detected"}


class CudaError(int):
    """``cudaError``: equal to its number."""

    success: ClassVar[CudaError]


CudaError.__name__ = CudaError.__qualname__ = "cudaError"
CudaError.success = CudaError(0)


class CudaRuntime(ModuleType):
    """``torch._C._cudart``."""

    cudaError = CudaError

    def __init__(self) -> None:
        super().__init__("torch._C._cudart", "The CUDA runtime of the emulated GPUs.")

    @staticmethod
    def cudaGetErrorString(error: int) -> str:
        """The sentence for an error."""
        return _MESSAGES.get(int(error), "unrecognized error code")

    @staticmethod
    def cudaMemGetInfo(device: int) -> tuple[int, int]:
        """Free and total bytes of a device."""
        return _core.memory_info(device if device >= 0 else _core.current_device())

    @staticmethod
    def cudaHostRegister(address: int, size: int, flags: int) -> CudaError:
        """Pins memory that exists: ``is_pinned()`` is true of tensors in it from now on."""
        _core.pin(address, size)
        return CudaError.success

    @staticmethod
    def cudaHostUnregister(address: int) -> CudaError:
        """Undoes `cudaHostRegister`."""
        _core.unpin(address)
        return CudaError.success

    @staticmethod
    def cudaProfilerStart() -> CudaError:
        """Does nothing."""
        return CudaError.success

    @staticmethod
    def cudaProfilerStop() -> CudaError:
        """Does nothing."""
        return CudaError.success

    @staticmethod
    def cudaStreamCreate(address: int) -> CudaError:
        """Refuses: ``address`` is a place to write a handle to, and every use of it ends in a GPU library."""
        return CudaError(801)  # cudaErrorNotSupported

    @staticmethod
    def cudaStreamDestroy(stream: int) -> CudaError:
        """Does nothing."""
        return CudaError.success
