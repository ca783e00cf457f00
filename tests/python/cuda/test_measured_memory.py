"""What calls charge to an emulated H100, beside what they took on a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from devsan import emulate


@pytest.fixture(scope="module", autouse=True, params=[False, True], ids=["with numbers", "at full size"])
def h100(request: pytest.FixtureRequest) -> Iterator[None]:
    with emulate(gpus="h100-80g", full_size=request.param):
        yield


@pytest.mark.parametrize(
    ("call", "peak", "kept"),
    [
        # (1024, 1024) float32, torch 2.11: docs/reference/gpu-parity.md. The first three are Reduce.cuh's, of 16 blocks
        # for each result, 128 results side by side, which leave 4 or 16 bytes each.
        (lambda x: x.sum(0), 8393216, 4096),
        (lambda x: x.std(0), 33559040, 4096),
        (lambda x: x.max(0), 33567232, 12288),
        (lambda x: x.sum(1), 4096, 4096),
        (lambda x: x.sum(), 1536, 512),
        (lambda x: torch.nn.functional.mse_loss(x, x), 8389632, 4194304),
        (lambda x: torch.nn.functional.huber_loss(x, x), 4195840, 512),
        (lambda x: x.equal(torch.ones_like(x)), 4194304 + 1050112, 0),
        (lambda x: x.flatten().unique(), 8552960, 4194304),
        (lambda x: x.sort(), 12591104, 12582912),
        (lambda x: x.flatten().topk(50), 360960, 1024),
    ],
    ids=[
        "sum of columns", "std of columns", "max of columns", "sum of rows", "sum", "mse_loss", "huber_loss", "equal",
        "unique", "sort", "topk",
    ],
)  # fmt: skip
def test_a_call_takes_what_was_measured(call: Callable[[torch.Tensor], Any], peak: int, kept: int) -> None:
    matrix = torch.rand(1024, 1024).to("cuda:0")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = call(matrix)
    assert torch.cuda.max_memory_allocated() - before == peak
    assert torch.cuda.memory_allocated() - before == kept
    del result
