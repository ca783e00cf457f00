"""Operators whose kernels a program writes in Python: ``torch.library`` with "cuda" among the devices.

See NOTE [Operators with kernels in Python] in core/intercept/python_operators.h.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.library

from devsan import _core
from devsan.cuda.patches import Patches

# torch's own kernels in Python for CUDA call Triton; DevSan has one for every operator of theirs. bitsandbytes' call
# its CUDA library; those for the CPU, or for any device, take their place.
_NATIVE = frozenset({"aten", "prims", "_native", "symm_mem", "_inductor_test", "triton", "bitsandbytes"})
_KEYS = frozenset({"CPU", "CUDA", "AutogradCUDA"})

_followed: dict[str, _core.FollowedKernel] = {}  # registered before an emulation started; as long as the process


def install(patches: Patches) -> None:
    """Makes emulated tensors reach such kernels, those that are there already and those to come."""
    impl, destroy = torch.library.Library.impl, torch.library.Library._destroy

    def impl_and_follow(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> None:
        impl(self, op_name, fn, dispatch_key, **options)
        name = op_name if isinstance(op_name, str) else op_name._name
        kernel = _follow(self.ns, name, dispatch_key or self.dispatch_key, by_torch=_is_torch(fn))
        if kernel is not None:
            vars(self).setdefault("_devsan_followed", []).append(kernel)

    def destroy_both(self: Any) -> None:
        vars(self).pop("_devsan_followed", None)
        destroy(self)

    patches.set(torch.library.Library, "impl", impl_and_follow)
    patches.set(torch.library.Library, "_destroy", destroy_both)
    for entry in sorted(torch.library._impls):
        space, name, key = entry.split("/")
        if entry not in _followed:
            kernel = _follow(space, name, key, by_torch=space in _NATIVE)
            if kernel is not None:
                _followed[entry] = kernel


def _is_torch(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] == "torch"


def _follow(space: str, name: str, key: str, by_torch: bool) -> _core.FollowedKernel | None:
    """A kernel that goes on to the one that stands at ``key``, if it is one that a GPU would run, or lack."""
    if key not in _KEYS or (space in _NATIVE and (space != "aten" or by_torch)):
        return None
    qualified = f"{space}::{name.split('::')[-1]}"
    if key == "CPU" and (space == "aten" or torch._C._dispatch_has_kernel_for_dispatch_key(qualified, "CUDA")):
        return None  # a compiled kernel for CUDA: the CPU's takes its place
    return _core.FollowedKernel(qualified, "AutogradCUDA" if key == "AutogradCUDA" else "CUDA")
