"""What operators that sort charge to a GPU: the figures that were measured on an H100 (tools/gpu_parity/recorded)."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.usefixtures("hopper")

N = 1 << 20
DEVICE = "cuda:0"


def peak_of(call: Callable[[], Any]) -> int:
    gc.collect()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    peak: int = torch.cuda.max_memory_allocated() - before
    return peak


def floats(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(N, device=DEVICE, dtype=dtype)


def whole() -> torch.Tensor:
    return torch.randint(1000, (N,), device=DEVICE)


@pytest.mark.parametrize(
    ("make", "measured"),
    [(floats, 33763840), (whole, 42193408), (lambda: floats(torch.bfloat16), 29556224)],
)
def test_a_sort_of_one_row_takes_what_cub_asks_for(make: Callable[[], torch.Tensor], measured: int) -> None:
    values = make()
    assert peak_of(values.sort) == measured


def test_a_median_of_all_sorts_them() -> None:
    values = floats()
    assert peak_of(values.median) == 33763840 + 512  # the result, which a real GPU has after the sort


def test_a_sort_of_short_rows_takes_the_places_of_one() -> None:
    values = torch.randn(1024, 1024, device=DEVICE)
    assert peak_of(values.sort) == 12591104


def test_unique_sorts() -> None:
    values = whole()
    assert peak_of(values.unique) == 16981504
    flags = values > 500
    assert peak_of(flags.unique) < N  # counted


def test_the_inverse_of_unique_sorts_places_too() -> None:
    values = whole()
    # Derived from UniqueCub.cu: sorted values and places before and after, and cub's second buffers of both.
    buffers = (8 + 8 + 8 + 8 + 8) * N
    assert 0 <= peak_of(lambda: values.unique(return_inverse=True)) - buffers < 1 << 19


def test_a_random_order_sorts_random_keys() -> None:
    assert peak_of(lambda: torch.randperm(N, device=DEVICE)) == 50577920
    assert peak_of(lambda: torch.randperm(29000, device=DEVICE)) == -(-29000 * 8 // 512) * 512  # made on the CPU


@pytest.mark.parametrize("gradient", ["index", "put"])
def test_rows_that_are_added_up_are_sorted_by_as_many_bits_as_there_are_rows(gradient: str) -> None:
    rows = torch.randn(1024, 1024, device=DEVICE, requires_grad=gradient == "index")
    places = torch.randint(1024, (4096,), device=DEVICE)
    values = torch.ones(4096, 1024, device=DEVICE)
    if gradient == "put":
        assert peak_of(lambda: rows.index_put((places,), values, accumulate=True)) == 4396544
    else:
        picked = rows[places]
        assert peak_of(lambda: torch.autograd.grad(picked, rows, values)) == 4396544


def test_values_that_are_added_up_on_the_cpu_take_nothing_of_a_gpu() -> None:
    rows, places = torch.zeros(4), torch.tensor([1, 1], device=DEVICE)
    assert peak_of(lambda: rows.index_put_((places,), torch.ones(2), accumulate=True)) == 0
    assert rows.tolist() == [0, 2, 0, 0]


def test_the_backward_of_a_bag_sorts_as_that_of_an_embedding() -> None:
    bag = torch.nn.EmbeddingBag(30000, 512).to(DEVICE)
    output = bag(torch.randint(30000, (1024, 16), device=DEVICE))
    grad = torch.ones_like(output)
    before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    torch.cuda.reset_peak_memory_stats()
    torch.autograd.grad(output, bag.weight, grad)
    took = torch.cuda.memory_stats()["requested_bytes.all.peak"] - before
    assert 0 <= 99149824 - took < 4096  # each of the parts is rounded up there
