"""Modes, subclasses and fake tensors: what they are shown is on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import FlopCounterMode

GPU = "cuda:1"
Same = Callable[..., None]


class Record(TorchDispatchMode):
    """What each operator was given: its name, and the devices in its arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, list[str]]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        values = tree_leaves((args, kwargs or {}))
        devices = [str(v.device) for v in values if isinstance(v, Tensor)]
        devices += [str(v) for v in values if isinstance(v, torch.device)]
        self.calls.append((str(function), devices))
        return function(*args, **(kwargs or {}))


def test_a_dispatch_mode_sees_gpus() -> None:
    with Record() as record:
        a = torch.ones(3, device=GPU)
        (a + a).to("cuda:0")
        torch.empty(2, device="cuda")
    assert record.calls == [
        ("aten.ones.default", [GPU]),
        ("aten.add.Tensor", [GPU, GPU]),
        ("aten._to_copy.default", [GPU, "cuda:0"]),
        ("aten.empty.memory_format", ["cuda"]),
    ]


def test_a_dispatch_mode_sees_the_operators_of_a_network() -> None:
    """Those of the CPU, but where torch's composites choose by device: a dropout is one kernel on CUDA."""

    def operators(device: str, dropout: float) -> list[str]:
        torch.manual_seed(0)
        layers = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 8)]
        model = nn.Sequential(*layers, nn.LayerNorm(8), nn.Dropout(dropout)).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        with Record() as record:
            output = model(torch.ones(2, 3, 6, 6, device=device))
            F.cross_entropy(output, torch.arange(2, device=device)).backward()
            optimizer.step()
        # AdamW counts its steps on the CPU, as on a machine with CUDA.
        wrong = {name for name, devices in record.calls if not set(devices) <= {device}}
        assert wrong <= {
            "aten.add_.Tensor",
            "aten._local_scalar_dense.default",
            "aten.zeros.default",
            "aten.lift_fresh.default",
            "aten.detach_.default",
        }
        return [name for name, _ in record.calls]

    assert operators(GPU, 0.0) == operators("cpu", 0.0)
    assert "aten.native_dropout.default" in operators(GPU, 0.1)


def test_counters_and_trackers_of_torch() -> None:
    def flops(device: str) -> int:
        model = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True).to(device)
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            model(torch.ones(2, 5, 8, device=device)).sum().backward()
        return counter.get_total_flops()

    assert flops(GPU) == flops("cpu") > 0


def test_a_function_mode_sees_methods_by_their_names() -> None:
    class Names(TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.names.append(function.__name__)
            return function(*args, **(kwargs or {}))

    t = torch.ones(3, device=GPU)
    with Names() as mode:
        created = t.new_tensor([1.0])
        legacy = t.new(3)
        t.cuda(0)
    assert [name for name in mode.names if name != "__get__"] == ["new_tensor", "new", "cuda"]
    assert str(created.device) == str(legacy.device) == GPU


def test_the_default_device() -> None:
    torch.set_default_device(GPU)
    try:
        made = [torch.ones(3), torch.tensor(1.0), torch.arange(3), torch.randperm(4), nn.Linear(2, 2).weight]
        assert {str(t.device) for t in made} == {GPU}
        assert torch.get_default_device() == torch.device(GPU)
        assert str(torch.stft(torch.randn(200), 64, window=torch.hann_window(64), return_complex=True).device) == GPU
    finally:
        torch.set_default_device(None)
    with torch.device("cuda"):
        assert str(torch.ones(3).device) == "cuda:0"
    with torch.device(GPU):
        assert str(torch.ones(3, device="cpu").device) == "cpu"


def test_fake_tensors_of_emulated_ones() -> None:
    real = torch.ones(3, 4, device=GPU)
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(real)
        model = nn.Sequential(nn.Linear(4, 2, device=GPU), nn.BatchNorm1d(2, device=GPU))
        results = [fake @ fake.t(), model(fake), fake.cpu().to(GPU), fake.new_zeros(2), fake.new_tensor([1.0])]
        assert {str(t.device) for t in results} == {GPU}
        assert nn.LSTM(4, 5, device=GPU)(fake[:, None])[0].shape == (3, 1, 5)
        image = F.conv2d(torch.ones(1, 3, 8, 8, device=GPU), torch.ones(4, 3, 3, 3, device=GPU))
        assert image.shape == (1, 4, 6, 6) and image.is_cuda
        with pytest.raises(RuntimeError, match="same device"):
            fake + torch.ones(3, 4, device="cuda:0")


class Wrapper(torch.Tensor):
    """A tensor around another, as quantization libraries write them."""

    @staticmethod
    def __new__(cls, inner: Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(tensors, context, size, stride) -> Wrapper:
        return Wrapper(tensors["inner"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        args, kwargs = tree_map(lambda v: v.inner if isinstance(v, Wrapper) else v, (args, kwargs or {}))
        return tree_map(lambda v: Wrapper(v) if isinstance(v, Tensor) else v, function(*args, **kwargs))


def test_wrapper_subclasses(same: Same) -> None:
    a = torch.randn(3, 4)
    wrapped = Wrapper(a.to(GPU))
    assert wrapped.is_cuda and str(wrapped.device) == GPU
    product = wrapped @ wrapped.t()
    assert isinstance(product, Wrapper)
    same(product.inner, a @ a.t())
    moved = wrapped.to("cpu")
    assert str(moved.device) == str(moved.inner.device) == "cpu"
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        wrapped + Wrapper(a.to("cuda:0"))


def test_modules_with_wrapped_parameters(same: Same) -> None:
    layer, x = nn.Linear(4, 2), torch.randn(3, 4)
    expected = layer(x)
    layer.weight = nn.Parameter(Wrapper(layer.weight.detach()))
    layer.to(GPU)
    assert str(layer.weight.device) == str(layer.weight.inner.device) == GPU
    output = layer(x.to(GPU))
    same(output.inner, expected)
    output.sum().backward()
    assert isinstance(layer.weight.grad, Wrapper)
    same(layer.weight.grad.inner, x.sum(0).expand(2, 4))


def test_simple_subclasses() -> None:
    class Named(torch.Tensor):
        pass  # torch's own __torch_function__ keeps the type

    class Special(nn.Parameter):
        pass

    named = torch.ones(3, device=GPU).as_subclass(Named)
    for result in (named + 1, named.to("cuda:0"), named.new_tensor([1.0]), named.new_zeros(2)):
        assert type(result) is Named and result.is_cuda
    layer = nn.Linear(2, 2)
    layer.weight = Special(layer.weight.data)
    layer.to(GPU)
    assert type(layer.weight) is Special and str(layer.weight.device) == GPU
