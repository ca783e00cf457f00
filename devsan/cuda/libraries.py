"""CUDA's libraries (cuBLAS, cuDNN, cuSOLVER): none is called, and their settings are kept for who reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from devsan import _core

# cuBLASLt uses the workspace of cuBLAS, unless another size is asked for (aten/src/ATen/cuda/CublasHandlePool.cpp).
_DEFAULT_SIZE = -1


class Libraries:
    """The functions, and the settings behind them."""

    def __init__(self) -> None:
        self._cudnn_benchmark_limit = 10
        self._lt_workspace = _DEFAULT_SIZE

    def names(self) -> dict[str, Callable[..., Any]]:
        """The functions, by their name in ``torch._C``."""
        return {
            "_cuda_getCompiledVersion": _compiled_version,
            "_cuda_getCurrentBlasHandle": _blas_handle,
            "_cuda_getCurrentSolverHandle": _solver_handle,
            "_cuda_clearCublasWorkspaces": _core.clear_cublas_workspaces,
            "_cuda_getCublasWorkspaceSize": _workspace_size,
            "_cuda_setCublasWorkspaceSize": _core.set_cublas_workspace_size,
            "_cuda_resetCublasWorkspaceSize": lambda: _core.set_cublas_workspace_size(_DEFAULT_SIZE),
            "_cuda_getCublasLtWorkspaceSize": self._lt_workspace_size,
            "_cuda_setCublasLtWorkspaceSize": lambda size: setattr(self, "_lt_workspace", size),
            "_cuda_resetCublasLtWorkspaceSize": lambda: setattr(self, "_lt_workspace", _DEFAULT_SIZE),
            "_cuda_get_cudnn_benchmark_limit": lambda: self._cudnn_benchmark_limit,
            "_cuda_set_cudnn_benchmark_limit": lambda limit: setattr(self, "_cudnn_benchmark_limit", limit),
            "_cuda_get_conv_benchmark_empty_cache": lambda: False,
        }

    def _lt_workspace_size(self) -> int:
        return _workspace_size() if self._lt_workspace == _DEFAULT_SIZE else self._lt_workspace


def _workspace_size() -> int:
    torch.cuda._lazy_init()
    return _core.cublas_workspace_size()


def _compiled_version() -> int:
    """CUDA_VERSION of cuda.h, e.g. 13000."""
    major, _, minor = str(torch.version.cuda).partition(".")
    return int(major) * 1000 + int(minor) * 10


# A handle is a name here: programs pass it on, nothing reads through it.


def _blas_handle() -> int:
    """That of this thread; asking for it gives it a workspace, as in torch."""
    torch.cuda._lazy_init()
    return 0x20000 + 0x1000 * _core.use_cublas() + 16 * _core.current_device()


def _solver_handle() -> int:
    torch.cuda._lazy_init()
    return 0x1000000 + 16 * _core.current_device()
