"""What GPUs of several generations refuse, each for itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from devsan import emulate

GPUS = ["a100-80g", "l4-24g", "t4-16g", "h100-80g", "b200-180g"]
attention = torch.nn.functional.scaled_dot_product_attention


@pytest.fixture(scope="module", autouse=True)
def generations() -> Iterator[None]:
    with emulate(gpus=",".join(GPUS)):
        yield


@pytest.fixture(params=GPUS)
def gpu(request: pytest.FixtureRequest) -> Iterator[str]:
    """One of them, current."""
    with torch.cuda.device(GPUS.index(request.param)):
        yield request.param


def test_a_mask_of_float32_is_what_the_chosen_kernel_says(gpu: str) -> None:
    query, mask = torch.randn(1, 2, 8, 8, device="cuda").half(), torch.zeros(8, 8, device="cuda")
    refused = pytest.raises(RuntimeError, match=r"^invalid dtype for bias - should match query's dtype$")
    if gpu in ("h100-80g", "b200-180g"):  # cuDNN's kernel is preferred
        assert attention(query, query, query, mask).dtype == torch.half
    else:
        with refused:
            attention(query, query, query, mask)
    with refused, sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        attention(query, query, query, mask)
    with refused:
        torch.ops.aten._scaled_dot_product_efficient_attention(query, query, query, mask.expand(1, 2, 8, 8), False)
    with sdpa_kernel(SDPBackend.MATH):
        assert attention(query, query, query, mask).dtype == torch.half


def test_masks_that_each_kernel_takes(gpu: str) -> None:
    query, mask = torch.randn(1, 2, 8, 8, device="cuda").half(), torch.zeros(8, 8, device="cuda")
    for accepted in (mask.bool(), mask.half()):
        assert attention(query, query, query, accepted).dtype == torch.half
    with torch.autocast("cuda", torch.half):  # gives the mask the dtype of the query
        assert attention(query, query, query, mask).dtype == torch.half
    assert attention(*[query.float()] * 3, mask).dtype == torch.float32


def test_scales_of_rows_and_a_result_in_float32(gpu: str) -> None:
    if gpu in ("a100-80g", "t4-16g"):
        return  # no float8
    matrix, ones = torch.ones(32, 32, device="cuda").to(torch.float8_e4m3fn), torch.ones(32, 1, device="cuda")

    def product(out_dtype: torch.dtype) -> torch.Tensor:
        return torch._scaled_mm(matrix, matrix.t(), ones, ones.t(), out_dtype=out_dtype)

    assert product(torch.bfloat16).eq(32).all()
    if gpu == "h100-80g" or torch.__version__ >= (2, 14):  # cuBLAS, or CUTLASS's kernel of a later torch
        assert product(torch.float32).eq(32).all()
    else:
        words = "Only bf16 and fp16 high precision output types are supported for row-wise scaling."
        with pytest.raises(ValueError, match=f"^{words}$"):
            product(torch.float32)
