"""What attention takes of a GPU: the kernel that CUDA chooses, its results, what it saves, and its workspace.

The figures are derived by hand from the tensors that CUDA's kernels allocate (flash_api.cpp, attention.cu and
attention_backward.cu in aten/src/ATen/native/transformers/cuda); none is measured.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.nn import functional

from devsan import emulate

GPUS = ("a100-40g", "h100-80g", "t4-16g", "rtx3090-24g")
BATCH, HEADS, LENGTH, WIDTH = 2, 8, 1024, 64
ROWS = BATCH * HEADS * LENGTH
PLACE = 24  # the place of the dropout mask: seed and offset, and a number that is not used


@pytest.fixture(scope="module", autouse=True)
def machine() -> Iterator[None]:
    with emulate(gpus=",".join(GPUS)):
        yield


@pytest.fixture(params=range(len(GPUS)), ids=GPUS)
def every_gpu(request: pytest.FixtureRequest) -> Iterator[str]:
    with torch.cuda.device(request.param):
        yield GPUS[request.param]


def charged(call: Callable[[], Any]) -> tuple[int, int, Any]:
    """Bytes that the call asks the allocator for at its peak, bytes that it keeps, and its result."""
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    result = call()
    stats = torch.cuda.memory_stats()
    return stats["requested_bytes.all.peak"] - before, stats["requested_bytes.all.current"] - before, result


def operands(dtype: torch.dtype, heads: int = HEADS, width: int = WIDTH, length: int = LENGTH) -> list[torch.Tensor]:
    shapes = [(BATCH, length, HEADS, width), *[(BATCH, length, heads, width)] * 2]
    # As a projection gives them: positions before heads in memory.
    return [torch.randn(shape, device="cuda", dtype=dtype).transpose(1, 2).requires_grad_() for shape in shapes]


@pytest.mark.parametrize(
    ("dtype", "masked", "wanted"),
    [
        (torch.bfloat16, False, {"a100-40g": "Flash", "rtx3090-24g": "Flash", "h100-80g": "Cudnn", "t4-16g": "math"}),
        (torch.float16, False, {"a100-40g": "Flash", "h100-80g": "Cudnn", "t4-16g": "Efficient"}),
        (torch.float16, True, {"a100-40g": "Efficient", "h100-80g": "Cudnn", "t4-16g": "Efficient"}),
        (torch.float32, False, dict.fromkeys(GPUS, "Efficient")),
        (torch.float64, False, dict.fromkeys(GPUS, "math")),
    ],
)
def test_the_kernel_is_that_of_the_gpu(
    every_gpu: str, dtype: torch.dtype, masked: bool, wanted: dict[str, str]
) -> None:
    if every_gpu not in wanted:
        pytest.skip("this GPU has the kernel of another in the list")
    query, key, value = operands(dtype, length=32)
    mask = torch.ones(32, 32, dtype=torch.bool, device="cuda") if masked else None
    node = functional.scaled_dot_product_attention(query, key, value, mask).grad_fn.name()
    expected = wanted[every_gpu]
    assert node.startswith(f"ScaledDotProduct{expected}Attention" if expected != "math" else ("Unsafe", "ToCopy"))


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.long
def test_flash_attention(dropout: float, is_causal: bool) -> None:
    query, key, value = operands(torch.bfloat16)
    forward = lambda: functional.scaled_dot_product_attention(  # noqa: E731
        query, key, value, dropout_p=dropout, is_causal=is_causal
    )
    peak, kept, output = charged(forward)
    assert peak == kept == query.nbytes + ROWS * 4 + PLACE  # output, logsumexp
    grad = torch.ones_like(output)
    peak, kept, _ = charged(lambda: torch.autograd.grad(output, (query, key, value), grad))
    scratch = ROWS * 4 + ROWS * WIDTH * 4  # softmax_d, dq_accum
    assert peak == 3 * query.nbytes + scratch


def test_flash_attention_with_shared_heads() -> None:
    query, key, value = operands(torch.bfloat16, heads=4)
    output = functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    assert output.grad_fn.name().startswith("ScaledDotProductFlash")
    grad = torch.ones_like(output)
    peak, _, _ = charged(lambda: torch.autograd.grad(output, (query, key, value), grad))
    gradients = query.nbytes + key.nbytes + value.nbytes
    assert peak == gradients + ROWS * 4 + ROWS * WIDTH * 4 + 2 * query.nbytes  # dk_expanded, dv_expanded


def test_flash_attention_splits_the_keys_of_few_queries() -> None:
    shapes = [(1, 8, 1, 128), *[(1, 8, 8192, 128)] * 2]
    query, key, value = (torch.randn(shape, device="cuda", dtype=torch.float16) for shape in shapes)
    peak, kept, _ = charged(lambda: functional.scaled_dot_product_attention(query, key, value))
    # 8 blocks for 2 x 108 processors, and 64 blocks of keys. Of the splits that cut these otherwise 22 (by 3)
    # fills 0.81 of the processors, 16 fills 0.59, and 32 takes a second wave.
    splits = 22
    assert kept == query.nbytes
    assert peak == query.nbytes + 8 * 4 + splits * 8 * (128 + 1) * 4 + PLACE


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.long
def test_efficient_attention_of_float(dropout: float) -> None:
    query, key, value = operands(torch.float32)
    peak, kept, output = charged(lambda: functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout))
    assert peak == kept == query.nbytes + ROWS * 4  # the place of the random numbers is on the CPU
    grad = torch.ones_like(output)
    peak, _, _ = charged(lambda: torch.autograd.grad(output, (query, key, value), grad))
    tiles = ROWS // 64 * (256 + 64 * 64 * 4)  # GradQTempStorage of each tile of 64 queries
    assert peak == 3 * query.nbytes + ROWS * 4 + tiles


@pytest.mark.parametrize("length", [1024, 1000])
def test_efficient_attention_with_a_mask(length: int) -> None:
    query, key, value = operands(torch.bfloat16, length=length)
    mask = torch.ones(BATCH, 1, length, length, dtype=torch.bool, device="cuda").tril()
    peak, kept, output = charged(lambda: functional.scaled_dot_product_attention(query, key, value, mask))
    assert output.grad_fn.name().startswith("ScaledDotProductEfficient")
    bias = 2 * mask.numel()  # the mask in bfloat16
    rows = 2 * BATCH * length * (-(-length // 16) * 16)  # the same with each row aligned, where it is not
    results = query.nbytes + BATCH * HEADS * (-(-length // 32) * 32) * 4
    assert kept == results + (bias if rows == bias else rows)
    assert peak == max(results + bias + (0 if rows == bias else rows), bias + mask.numel())


def test_attention_that_did_not_fit() -> None:
    # The matrix of scores alone takes 256 MiB.
    with torch.cuda.device(2):
        torch.cuda.set_per_process_memory_fraction(0.015)
        try:
            query, key, value = operands(torch.float16, length=2048)
            output = functional.scaled_dot_product_attention(query, key, value, dropout_p=0.1)
            output.sum().backward()
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
    assert query.grad.shape == query.shape


def test_a_result_without_room_is_refused_before_it_is_computed() -> None:
    with torch.cuda.device(0):
        query, key, value = operands(torch.bfloat16, length=8192)
        torch.cuda.empty_cache()
        held = torch.cuda.memory_reserved() + query.nbytes // 2
        torch.cuda.set_per_process_memory_fraction(held / torch.cuda.get_device_properties(0).total_memory)
        try:
            with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 16\.00 MiB"):
                functional.scaled_dot_product_attention(query, key, value)
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
