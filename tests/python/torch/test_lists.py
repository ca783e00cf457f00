"""Lists of tensors: an operator takes them apart, and leaves the caller's as it was."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

GPU = "cuda:1"


@torch.jit.script
def joined_twice(tensors: list[Tensor]) -> tuple[Tensor, Tensor, list[Tensor]]:
    first = torch.cat(tensors)
    return first, torch.stack(tensors), tensors


@torch.jit.script
def picked_twice(x: Tensor, places: list[Tensor | None]) -> tuple[Tensor, Tensor]:
    first = torch.ops.aten.index(x, places)
    return first, torch.ops.aten.index(x, places)


def test_a_list_that_the_caller_keeps_is_not_changed() -> None:
    on_host = [torch.rand(2, 3) for _ in range(3)]
    tensors = [each.to(GPU) for each in on_host]
    joined, stacked, kept = joined_twice(tensors)
    assert [each.device for each in (joined, stacked, *kept)] == [torch.device(GPU)] * 5
    assert torch.equal(joined.cpu(), torch.cat(on_host)) and torch.equal(stacked.cpu(), torch.stack(on_host))


def test_a_list_with_gaps_is_not_changed() -> None:
    x = torch.rand(3, 4)
    places = [None, torch.tensor([2, 0])]
    first, second = picked_twice(x.to(GPU), [None, torch.tensor([2, 0]).to(GPU)])
    assert torch.equal(first.cpu(), x[:, places[1]]) and torch.equal(second, first)


@pytest.mark.parametrize("count", [1, 40, 600])
def test_a_list_of_any_length_gives_the_hosts_numbers(count: int) -> None:
    on_host = [torch.full((2,), float(place)) for place in range(count)]
    tensors = [each.to(GPU) for each in on_host]
    assert torch.equal(torch.cat(tensors).cpu(), torch.cat(on_host))
    torch._foreach_add_(tensors, tensors)
    results = torch._foreach_mul(tensors, 2.0)
    assert all(torch.equal(result.cpu(), each * 4) for result, each in zip(results, on_host, strict=True))


def test_results_that_are_the_same_memory_stay_so() -> None:
    x = torch.zeros(4, 2, device=GPU)
    parts = torch.split(x, 2)
    parts[1].fill_(3)
    assert x[2:].eq(3).all() and x[:2].eq(0).all()
