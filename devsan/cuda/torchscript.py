"""TorchScript on emulated GPUs: its graphs run operator by operator."""

from __future__ import annotations

import torch


def fuse_on_gpus(allowed: bool) -> bool:
    """Says whether TorchScript may compile parts of a graph for a GPU. Returns what was so before.

    A build of torch with CUDA compiles them with NVRTC, which needs a driver; one without has nothing to compile with
    (canFuseOnGPU of torch/csrc/jit/codegen/fuser/interface.cpp).
    """
    before: bool = torch._C._jit_can_fuse_on_gpu()
    torch._C._jit_override_can_fuse_on_gpu(allowed)
    return before
