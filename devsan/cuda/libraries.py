"""CUDA's libraries (cuBLAS, cuDNN, cuSOLVER): none is called, and their settings are kept for who reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from devsan import _core

# ":4096:2:16:8", torch's default before Hopper, and for cuBLASLt 1 MiB (aten/src/ATen/cuda/CublasHandlePool.cpp).
_CUBLAS_WORKSPACE = (2 * 4096 + 8 * 16) * 1024
_CUBLASLT_WORKSPACE = 1024 * 1024


class Libraries:
    """The functions, and the settings behind them."""

    def __init__(self) -> None:
        self._cudnn_benchmark_limit = 10
        self._workspace = _CUBLAS_WORKSPACE
        self._lt_workspace = _CUBLASLT_WORKSPACE

    def names(self) -> dict[str, Callable[..., Any]]:
        """The functions, by their name in ``torch._C``."""
        return {
            "_cuda_getCompiledVersion": _compiled_version,
            "_cuda_getCurrentBlasHandle": _handle(0x20000),
            "_cuda_getCurrentSolverHandle": _handle(0x30000),
            "_cuda_clearCublasWorkspaces": lambda: None,
            "_cuda_getCublasWorkspaceSize": lambda: self._workspace,
            "_cuda_setCublasWorkspaceSize": lambda size: setattr(self, "_workspace", size),
            "_cuda_resetCublasWorkspaceSize": lambda: setattr(self, "_workspace", _CUBLAS_WORKSPACE),
            "_cuda_getCublasLtWorkspaceSize": lambda: self._lt_workspace,
            "_cuda_setCublasLtWorkspaceSize": lambda size: setattr(self, "_lt_workspace", size),
            "_cuda_resetCublasLtWorkspaceSize": lambda: setattr(self, "_lt_workspace", _CUBLASLT_WORKSPACE),
            "_cuda_get_cudnn_benchmark_limit": lambda: self._cudnn_benchmark_limit,
            "_cuda_set_cudnn_benchmark_limit": lambda limit: setattr(self, "_cudnn_benchmark_limit", limit),
            "_cuda_get_conv_benchmark_empty_cache": lambda: False,
        }


def _compiled_version() -> int:
    """CUDA_VERSION of cuda.h, e.g. 13000."""
    major, _, minor = str(torch.version.cuda).partition(".")
    return int(major) * 1000 + int(minor) * 10


def _handle(base: int) -> Callable[[], int]:
    """A handle is a name here: programs pass it on, nothing reads through it."""

    def handle() -> int:
        torch.cuda._lazy_init()
        return base + 16 * _core.current_device()

    return handle
