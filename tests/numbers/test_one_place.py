"""A reference run in which all tensors have values computes what a run with tensors without values does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from devsan.numbers import one_place


@pytest.fixture
def values() -> Iterator[None]:
    one_place.keep_values(makes_them=True)
    yield
    one_place._mode.__exit__(None, None, None)


@pytest.fixture
def kept() -> Iterator[None]:
    one_place.keep_values()
    yield
    one_place._mode.__exit__(None, None, None)


def made() -> list[torch.nn.Module]:
    with torch.device("meta"):
        return [torch.nn.Linear(4, 4), torch.nn.Embedding(4, 4, device="meta"), torch.nn.LSTM(4, 4)]


def test_what_gets_values_draws_no_random_numbers(values: None):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    modules = made()
    torch.randn(4, device="meta")
    assert {weight.device.type for module in modules for weight in module.parameters()} == {"cpu"}
    assert torch.equal(torch.rand(3), expected)


def test_what_has_values_anyway_draws_them(values: None):
    torch.manual_seed(0)
    first = torch.empty(3).uniform_()
    assert not torch.equal(torch.empty(3).uniform_(), first)
    first.to(device="meta")  # has kept its values, and is filled as before
    assert not torch.equal(first.uniform_().clone(), first.uniform_())


def test_what_is_sent_to_meta_stays_and_what_is_made_there_has_no_values(kept: None):
    weight = torch.ones(2)
    assert [each.device.type for each in (weight.to("meta"), weight.to(device="meta"))] == ["cpu", "cpu"]
    assert {each.device.type for module in made() for each in module.parameters()} == {"meta"}
    assert torch.empty_like(weight, device="meta").is_meta
