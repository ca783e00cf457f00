"""DLPack: an emulated tensor goes out as kDLCUDA with its ordinal, and comes back to the same memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.utils.dlpack import from_dlpack, to_dlpack

GPU = "cuda:1"
Same = Callable[..., None]


def test_round_trip(same: Same) -> None:
    a = torch.randn(3, 4)
    t = a.to(GPU)
    assert tuple(t.__dlpack_device__()) == (2, 1)  # kDLCUDA
    with torch.cuda.device(1):
        back = torch.from_dlpack(t)
    assert back.data_ptr() == t.data_ptr() and back.is_cuda
    back.add_(1)
    same(t, a + 1)
    same(back @ back.t(), (a + 1) @ (a + 1).t())
    same(back[1:].view(-1).clone(), (a + 1)[1:].reshape(-1))
    legacy = from_dlpack(to_dlpack(t))
    same(legacy * 2, (a + 1) * 2)


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16, torch.bool, torch.int64, torch.uint8, torch.cfloat])
def test_types_and_strides(dtype: torch.dtype) -> None:
    t = torch.ones(3, 4, device=GPU).to(dtype)
    with torch.cuda.device(1):
        for exported in (t, t.t(), t[1], t[:0]):
            back = torch.from_dlpack(exported)
            assert (back.dtype, back.shape, back.stride()) == (dtype, exported.shape, exported.stride())
            assert torch.equal(back.cpu(), exported.cpu())


def test_memory_lives_as_long_as_the_capsule() -> None:
    t = torch.ones(1000, device=GPU)
    before = torch.cuda.memory_allocated(1)
    capsule = to_dlpack(t)
    del t
    assert torch.cuda.memory_allocated(1) == before
    back = from_dlpack(capsule)
    assert back.sum().item() == 1000
    del back, capsule
    assert torch.cuda.memory_allocated(1) < before


def test_refused_as_on_a_gpu() -> None:
    t = torch.ones(3, device=GPU)
    with pytest.raises(BufferError, match="Can't export tensors on a different CUDA device index"):
        torch.from_dlpack(t)
    with torch.cuda.device(1):
        with pytest.raises((BufferError, RuntimeError), match=r"(?i)unsupported device"):
            np.from_dlpack(t)
        with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
            torch.from_dlpack(t.clone().requires_grad_())
