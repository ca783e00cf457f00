"""NumPy and a tensor on a GPU: torch's words of refusal, and the ways that work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

GPU = "cuda:1"
Same = Callable[..., None]


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t.numpy(),
        np.asarray,
        np.array,
        np.sin,
        lambda t: np.add(t, 1),
        lambda t: np.array([t, t]),
        lambda t: t + np.ones(3),
        lambda t: np.zeros(3).__setitem__(slice(None), t),
        lambda t: t.clone().requires_grad_().numpy(),
    ],
)
def test_refused(use: Callable[[Tensor], object]) -> None:
    words = (
        r"^can't convert cuda:1 device type tensor to numpy. Use Tensor.cpu\(\) to copy the tensor to host memory first"
    )
    with pytest.raises(TypeError, match=words):
        use(torch.ones(3, device=GPU))


def test_what_works(same: Same) -> None:
    a = torch.arange(3.0)
    t = a.to(GPU)
    assert t.numpy(force=True).tolist() == [0, 1, 2]
    assert t.tolist() == [0, 1, 2] and float(t[1]) == 1.0 and f"{t[2]:.1f}" == "2.0"
    assert np.arange(5)[torch.tensor(2, device=GPU)] == 2  # __index__
    same(np.float32(2) * t, a * 2)
    same(t * np.float64(2), a * 2)
    same(t[np.array([True, False, True])], a[::2])
    same(torch.as_tensor(np.ones(3), device=GPU), torch.ones(3, dtype=torch.double))
    assert t.__array_priority__ == 1000 and not hasattr(t, "__array_interface__")


def test_the_interface_of_cuda_arrays(same: Same) -> None:
    a = torch.arange(12.0).view(3, 4)
    t = a.to(GPU)
    interface = t.__cuda_array_interface__
    assert interface["data"] == (t.data_ptr(), False)
    assert (interface["typestr"], interface["shape"], interface["strides"]) == ("<f4", (3, 4), None)
    assert t.t().__cuda_array_interface__["strides"] == (4, 16)
    assert not hasattr(a, "__cuda_array_interface__")


@pytest.mark.skipif(torch.version.cuda is not None, reason="CUDA's kernels take such a tensor for one of theirs")
def test_an_array_of_another_library(same: Same) -> None:
    a = torch.arange(3.0)
    t = a.to(GPU)

    class Array:
        __cuda_array_interface__ = t.__cuda_array_interface__

    taken = torch.as_tensor(Array(), device=GPU)
    assert taken.data_ptr() == t.data_ptr()
    taken.add_(1)
    same(taken + taken, (a + 1) * 2)
    same(t, a + 1)
