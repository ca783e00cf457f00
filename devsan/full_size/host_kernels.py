"""Kernels of other libraries in host memory that are no operators of torch: without numbers, they do nothing.

They are those of DeepSpeed's offloaded optimizers. Compiling them takes a minute, so it waits for a call with numbers.
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
        return _Kernels(self._builder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._builder, name)


class _Kernels:
    """Makes and removes optimizers, by calls without tensors, which are repeated once the library is loaded."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        self._library: Any = None
        self._put_off: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        torch: Any = sys.modules["torch"]

        def called(*args: Any, **words: Any) -> Any:
            tensors = [each for each in (*args, *words.values()) if isinstance(each, torch.Tensor)]
            if any(map(_core.is_unknown, tensors)):
                return 0  # what these kernels return; what they would write is unknown already
            if self._library is None and not tensors:
                self._put_off.append((name, args, words))
                return 0
            return getattr(self._loaded(), name)(*args, **words)

        return called

    def _loaded(self) -> Any:
        if self._library is None:
            self._library = self._builder.load()
            for name, args, words in self._put_off:
                getattr(self._library, name)(*args, **words)
        return self._library


def leave_out(module: Any, patches: Patches) -> None:
    """Has the builder of ``module`` make such kernels; ``patches`` put it back."""
    name = BUILDERS[module.__name__]
    patches.set(module, name, _Builder(getattr(module, name)))
