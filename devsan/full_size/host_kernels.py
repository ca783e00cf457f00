"""Kernels of other libraries in host memory that are no operators of torch: without numbers, they do nothing.

They are those of DeepSpeed's offloaded optimizers, which it compiles when they are asked for.
"""

from __future__ import annotations

import sys
from typing import Any

from devsan import _core
from devsan.cuda.patches import Patches

BUILDERS = {
    "deepspeed.ops.adam.cpu_adam": "CPUAdamBuilder",
    "deepspeed.ops.adagrad.cpu_adagrad": "CPUAdagradBuilder",
    "deepspeed.ops.lion.cpu_lion": "CPULionBuilder",
}
"""What makes them, by module."""


class _Builder:
    """A builder whose kernels are called with tensors that have numbers, and not with others."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder

    def __call__(self) -> _Builder:
        return _Builder(self._builder())

    def load(self) -> _Kernels:
        return _Kernels(self._builder.load())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._builder, name)


class _Kernels:
    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        kernel = getattr(self._library, name)
        torch: Any = sys.modules["torch"]

        def called(*args: Any) -> Any:
            if any(isinstance(each, torch.Tensor) and _core.is_unknown(each) for each in args):
                return 0  # what these kernels return; what they would write is unknown already
            return kernel(*args)

        return called


def leave_out(module: Any, patches: Patches) -> None:
    """Has the builder of ``module`` make such kernels; ``patches`` put it back."""
    name = BUILDERS[module.__name__]
    patches.set(module, name, _Builder(getattr(module, name)))
