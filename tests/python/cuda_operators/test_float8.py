"""Products of float8 on a GPU that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from devsan import emulate

GPU = torch.device("cuda:1")


@pytest.fixture(scope="module", autouse=True)
def two_gpus() -> Iterator[None]:
    """Two H100s, in place of the A100s of the other tests."""
    with emulate(gpus=["h100-80g"] * 2):
        yield


def float8(*sizes: int, dtype: torch.dtype = torch.float8_e4m3fn) -> torch.Tensor:
    return torch.ones(sizes, device=GPU).to(dtype)


def scaled(mat1: torch.Tensor, mat2: torch.Tensor, **options: object) -> torch.Tensor:
    one = torch.ones((), device=GPU)
    return torch._scaled_mm(mat1, mat2, one, one, **{"out_dtype": torch.bfloat16, **options})


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: scaled(float8(32, 17), float8(32, 17).t()),
            "Expected trailing dimension of mat1 to be divisible by 16 but got",
        ),
        (lambda: scaled(float8(32, 32), float8(24, 32).t()), r"mat2 shape \(32x24\) must be divisible by 16$"),
        (
            lambda: scaled(float8(32, 32), float8(32, 32)),
            "Only multiplication of row-major and column-major matrices is",
        ),
        (
            lambda: scaled(float8(32, 32, dtype=torch.float8_e5m2), float8(32, 32, dtype=torch.float8_e5m2).t()),
            "Multiplication of two Float8_e5m2 matrices is not supported$",
        ),
        (
            lambda: scaled(float8(32, 32), float8(32, 32).t(), bias=torch.ones(32, device=GPU)),
            "Bias must be BFloat16 or Half, but got Float$",
        ),
    ],
)
def test_products_of_float8_have_the_shapes_and_layouts_that_cublas_asks_for(
    call: Callable[[], torch.Tensor], words: str
) -> None:
    with pytest.raises((RuntimeError, ValueError), match=f"^{words}"):
        call()


def test_a_product_of_float8_on_a_hopper() -> None:
    product = scaled(float8(3, 32), float8(16, 32).t())
    assert product.dtype == torch.bfloat16
    assert product.eq(32).all()


@pytest.mark.parametrize("by_row", [False, True])
def test_products_of_float8(by_row: bool) -> None:
    left = torch.randn(16, 32).to(torch.float8_e4m3fn)
    right = torch.randn(16, 32).to(torch.float8_e4m3fn).t()
    left_scale = torch.rand(16, 1) if by_row else torch.tensor(2.0)
    right_scale = torch.rand(1, 16) if by_row else torch.tensor(0.5)
    got = torch._scaled_mm(
        left.to(GPU), right.to(GPU), left_scale.to(GPU), right_scale.to(GPU), out_dtype=torch.bfloat16
    )
    wanted = (left.float() * left_scale) @ (right.float() * right_scale)
    torch.testing.assert_close(got.cpu().float(), wanted, atol=5e-2, rtol=2e-2)


@pytest.mark.parametrize("dtype, name", [(torch.float8_e4m3fn, "Float8_e4m3fn"), (torch.float8_e5m2, "Float8_e5m2")])
@pytest.mark.parametrize(
    "call, kernel",
    [
        (lambda x: x.abs(), "abs_cuda"),
        (lambda x: x * x, "mul_cuda"),
        (lambda x: x * 2, "mul_cuda"),
        (lambda x: x.mul_(x), "mul_cuda"),
        (lambda x: x + x, "ufunc_add_CUDA"),
        (lambda x: x.any(), "or_cuda"),
        (lambda x: x.all(1), "and_cuda"),
        (lambda x: x.roll(1), "roll_cuda"),
    ],
)
def test_elementwise_kernels_have_no_float8(
    call: Callable[[torch.Tensor], torch.Tensor], kernel: str, dtype: torch.dtype, name: str
) -> None:
    with pytest.raises(NotImplementedError, match=f"^\"{kernel}\" not implemented for '{name}'$"):
        call(float8(2, 3, dtype=dtype))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x == x,
        lambda x: x.isnan(),
        lambda x: torch.where(x == x, x, x),
        lambda x: torch.cat([x, x]),
        lambda x: x.flip(0),
        lambda x: x[torch.tensor([1], device=GPU)],
        lambda x: x.index_select(0, torch.tensor([1], device=GPU)),
        lambda x: x.fill_(2),
        lambda x: x.to(torch.bfloat16) * 2,
    ],
)
def test_float8_is_moved_and_compared(call: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert call(float8(2, 3)).device == GPU
