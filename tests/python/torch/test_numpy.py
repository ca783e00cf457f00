"""NumPy and a tensor on a GPU: torch's words of refusal, and the ways that work."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

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


class Array:
    """What another library (CuPy, Numba) hands over: it has no more than the interface."""

    def __init__(self, interface: object, **changes: object) -> None:
        self.__cuda_array_interface__ = {**interface, **changes} if isinstance(interface, dict) else interface


@pytest.mark.parametrize("make", [torch.as_tensor, torch.asarray])
@pytest.mark.parametrize("options", [{}, {"device": GPU}, {"dtype": torch.float32}])
def test_an_array_of_another_library_is_the_same_memory(
    make: Callable[..., Tensor], options: dict[str, Any], same: Same
) -> None:
    a = torch.arange(12.0).view(3, 4)
    t = a.to(GPU)
    for part in (lambda x: x, torch.t, lambda x: x[1:, ::2], lambda x: x[2, 3]):
        taken = make(Array(part(t).__cuda_array_interface__), **options)
        assert (taken.data_ptr(), taken.stride()) == (part(t).data_ptr(), part(t).stride())
        same(taken, part(a))
        same(taken + taken, part(a) * 2)
    make(Array(t.__cuda_array_interface__), **options).add_(1)
    same(t, a + 1)


@pytest.mark.parametrize("make", [torch.as_tensor, torch.asarray, torch.tensor])
def test_an_array_of_another_library_is_copied(make: Callable[..., Tensor], same: Same) -> None:
    a = torch.arange(3.0)
    t = a.to(GPU)
    array = Array(t.__cuda_array_interface__)
    same(make(array, device="cuda"), a, "cuda:0")
    same(make(array, device="cpu"), a, "cpu")
    same(make(array, dtype=torch.float64), a.double())
    same(torch.tensor(array), a)
    assert torch.tensor(array, device=GPU).data_ptr() != t.data_ptr()
    assert torch.tensor(array, requires_grad=True).requires_grad


def test_an_array_keeps_its_owner() -> None:
    class Owner(Array):
        pass

    t = torch.arange(3.0, device=GPU)
    owner = Owner(t.__cuda_array_interface__)
    owner.kept = t  # type: ignore[attr-defined]
    gone = weakref.ref(owner)
    taken = torch.as_tensor(owner)
    del owner, t
    assert gone() is not None and taken.tolist() == [0, 1, 2]
    del taken
    assert gone() is None


def test_a_tensor_far_inside_of_its_memory_is_found() -> None:
    big = torch.zeros(1 << 20, device=GPU)
    for other in (torch.zeros(5, device="cuda:0"), big[-1:], big[700_000:]):
        assert torch.as_tensor(Array(other.__cuda_array_interface__)).device == other.device
    empty = torch.empty(0, device=GPU)
    assert torch.as_tensor(Array(empty.__cuda_array_interface__)).shape == (0,)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"typestr": "|V4"}, TypeError, "can't convert np.ndarray of type numpy.void"),
        ({"typestr": 5}, ValueError, "cannot parse `typestr`"),
        ({"data": (64, True)}, TypeError, "the read only flag is not supported, should always be False"),
        ({"data": 5}, TypeError, r"`data` must be a 2-tuple of \(int, bool\)"),
        ({"strides": (3, 16)}, ValueError, "given array strides not a multiple of the element byte size"),
        ({"strides": (4,)}, TypeError, "strides must be a sequence of the same length as shape"),
        ({"shape": 5}, TypeError, "shape and strides must be sequences"),
    ],
)
def test_an_interface_is_refused_in_torchs_words(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    interface = torch.ones(3, 4, device=GPU).__cuda_array_interface__
    for make in (torch.as_tensor, torch.asarray, torch.tensor):
        with pytest.raises(error, match=f"^{words}"):
            make(Array(interface, **changes))
        with pytest.raises(TypeError, match=r"^`__cuda_array_interface__` must be a dict"):
            make(Array(5))


def test_memory_of_the_host_is_no_gpus() -> None:
    interface = torch.ones(8, device=GPU).__cuda_array_interface__
    words = r"^The specified pointer resides on host memory and is not registered with any CUDA device"
    for host in (torch.ones(8), torch.ones(1 << 20)):
        with pytest.raises(RuntimeError, match=words):
            torch.as_tensor(Array(interface, data=(host.data_ptr(), False)))
    with pytest.raises(RuntimeError, match=words):
        torch.as_tensor(Array(interface, data=(4096, False)))
    pinned = torch.ones(8).pin_memory()
    assert torch.as_tensor(Array(interface, data=(pinned.data_ptr(), False))).device == torch.device("cuda:0")
