"""Operators that a program brings along: torch.library in Python, and in C++ for the CPU."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.library import Library, custom_op

GPU = "cuda:1"
Same = Callable[..., None]

_calls: list[str] = []


@pytest.fixture(autouse=True)
def calls() -> Iterator[list[str]]:
    """Which kernel was called, and where its operand was."""
    _calls.clear()
    yield _calls


@custom_op("devsan_test::scale", mutates_args=())
def scale(t: Tensor, factor: float) -> Tensor:
    _calls.append(f"any {t.device}")
    return t * factor + torch.zeros_like(t)


@scale.register_fake
def _(t: Tensor, factor: float) -> Tensor:
    return torch.empty_like(t)


def _save(ctx, inputs, output) -> None:
    ctx.factor = inputs[1]


scale.register_autograd(lambda ctx, gradient: (gradient * ctx.factor, None), setup_context=_save)


@custom_op("devsan_test::either", mutates_args=(), device_types="cpu")
def either(t: Tensor) -> Tensor:
    _calls.append(f"cpu {t.device}")
    return t * 2


@either.register_kernel("cuda")
def _(t: Tensor) -> Tensor:
    _calls.append(f"cuda {t.device}")
    return t * 3


def test_a_kernel_for_any_device(same: Same, calls: list[str]) -> None:
    a = torch.randn(3, 4)
    x = a.to(GPU).requires_grad_()
    output = scale(x, 2.0)
    assert calls == [f"any {GPU}"]
    same(output, a * 2)
    output.sum().backward()
    same(x.grad, torch.full((3, 4), 2.0))
    torch.library.opcheck(scale, (x, 2.0))


def test_the_kernel_for_cuda_is_called_on_a_gpu(same: Same, calls: list[str]) -> None:
    a = torch.randn(3)
    same(either(a.to(GPU)), a * 3)  # `either` was registered before the emulation started
    same(either(a), a * 2, "cpu")
    assert calls == [f"cuda {GPU}", "cpu cpu"]


def test_a_kernel_registered_while_the_emulation_runs(calls: list[str]) -> None:
    @custom_op("devsan_test::later", mutates_args=())
    def later(t: Tensor) -> Tensor:
        calls.append(f"any {t.device}")
        return t * 2

    @later.register_kernel("cuda")
    def _(t: Tensor) -> Tensor:
        calls.append(f"cuda {t.device}")
        return t * 2

    a = torch.randn(3)
    later(a.to(GPU))
    later(a)
    assert calls == [f"cuda {GPU}", "any cpu"]


def test_kernels_for_one_device_only(calls: list[str]) -> None:
    @custom_op("devsan_test::host_only", mutates_args=(), device_types="cpu")
    def host_only(t: Tensor) -> Tensor:
        return t * 2

    @custom_op("devsan_test::gpu_only", mutates_args={"t"}, device_types="cuda")
    def gpu_only(t: Tensor) -> None:
        t.add_(1)

    words = "Could not run 'devsan_test::{}' with arguments from the '{}' backend"
    with pytest.raises(NotImplementedError, match=words.format("host_only", "CUDA")):
        host_only(torch.ones(3, device=GPU))
    with pytest.raises(NotImplementedError, match=words.format("gpu_only", "CPU")):
        gpu_only(torch.ones(3))
    t = torch.zeros(3, device=GPU)
    gpu_only(t)
    assert t.tolist() == [1, 1, 1] and t._version > 0

    @host_only.register_kernel("cuda")
    def _(t: Tensor) -> Tensor:
        return t * 4

    assert host_only(t).tolist() == [4, 4, 4]


def test_a_library_of_python_kernels(same: Same, calls: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    library = Library("devsan_library", "DEF")
    kernels = Library("devsan_library", "IMPL", "CUDA")
    library.define("f(Tensor t) -> Tensor")
    library.define("g(Tensor t) -> Tensor")
    kernels.impl("f", lambda t: calls.append(str(t.device)) or t * 3)
    library.impl("f", lambda t: t * 2, "CompositeExplicitAutograd")
    library.impl("g", lambda t: t * 6, "AutogradCUDA")
    a = torch.randn(3)
    same(torch.ops.devsan_library.f(a.to(GPU)), a * 3)
    same(torch.ops.devsan_library.f(a), a * 2, "cpu")
    same(torch.ops.devsan_library.g(a.to(GPU)), a * 6)
    assert calls == [GPU]
    kernels._destroy()  # the one for any device is left
    same(torch.ops.devsan_library.f(a.to(GPU)), a * 2)
    assert capfd.readouterr().err == ""
    library._destroy()


def test_an_operator_of_torch_that_is_overridden(same: Same) -> None:
    a = torch.randn(3)
    kernels = Library("aten", "IMPL", "CUDA")
    kernels.impl("sinc", lambda t: t * 0 + 7)
    same(torch.sinc(a.to(GPU)), torch.full((3,), 7.0))
    same(torch.sinc(a), torch.sinc(a), "cpu")
    kernels._destroy()
    same(torch.sinc(a.to(GPU)), torch.sinc(a))


def test_operators_over_several_gpus() -> None:
    @custom_op("devsan_test::collect", mutates_args=())
    def collect(a: Tensor, b: Tensor) -> Tensor:
        return a + b.to(a.device)

    a = torch.ones(3, device=GPU)
    for other in ("cuda:0", "cpu"):
        assert str(collect(a, torch.ones(3, device=other)).device) == GPU


SOURCE = """
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <torch/library.h>

at::Tensor twice(const at::Tensor& t) {
  TORCH_CHECK(t.is_cpu(), "t must be a CPU tensor");
  at::Tensor result = at::empty_like(t);
  for (int64_t i = 0; i < t.numel(); ++i) result.data_ptr<float>()[i] = 2 * t.const_data_ptr<float>()[i];
  return result;
}
at::Tensor like(const at::Tensor& t) {
  TORCH_CHECK(t.is_cuda(), "t must be a CUDA tensor");
  return at::ones({2}, t.options().device(at::Device(at::kCUDA, t.get_device())));
}
TORCH_LIBRARY(devsan_native, library) {
  library.def("twice(Tensor t) -> Tensor");
  library.def("for_cpu(Tensor t) -> Tensor", &twice);
  library.def("for_cuda(Tensor t) -> Tensor", &like);
}
TORCH_LIBRARY_IMPL(devsan_native, CPU, library) { library.impl("twice", &twice); }
"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("ninja") is None or shutil.which("c++") is None, reason="needs ninja and c++ to build")
def test_a_compiled_extension_for_the_cpu(same: Same, tmp_path: Path) -> None:
    from torch.utils.cpp_extension import load_inline

    load_inline(
        "devsan_native",
        SOURCE,
        extra_cflags=["-O0"],
        build_directory=str(tmp_path),
        is_python_module=False,
        no_implicit_headers=True,
    )
    operators = torch.ops.devsan_native
    a = torch.randn(4)
    t = a.to(GPU)
    same(operators.twice(t), a * 2)  # a kernel for the CPU takes the place of CUDA's
    with pytest.raises(RuntimeError, match="t must be a CPU tensor"):
        operators.for_cpu(t)  # a function of the program's own sees the GPU
    with pytest.raises(RuntimeError, match="t must be a CUDA tensor"):
        operators.for_cuda(a)
    same(operators.for_cuda(t), torch.ones(2))
