"""Indices, masks, gathers and scatters."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from sentences import A, B, Case, check, longs, offending, ones, row, scalar, two
from torch.nn import functional


def index_on(device: str) -> str:
    return f"indices should be either on cpu or on the same device as the indexed tensor ({device})"


def masks(mask: str, tensor: str) -> str:
    """aten/src/ATen/native/cuda/Indexing.cu, masked_fill__cuda."""
    return f"expected self and mask to be on the same device, but got mask on {mask} and self on {tensor}"


def assigned(target: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
    target = target.clone()
    target[index] = value
    return target


CASES = [
    row("a 0-dim mask on the CPU", lambda: ones(2, on=A).masked_fill(torch.tensor(True), 0.0), masks("cpu", A)),
    row("where, a 0-dim condition first", lambda: torch.where(scalar(B) > 0, ones(2, on=A), ones(2, on=A)), two(B, A)),
    row(
        "searchsorted's sorter",
        lambda: torch.searchsorted(ones(2, on=A), ones(1, on=A), sorter=longs(0, 1)),
        "torch.searchsorted(): sorter and boundary tensors should have same device type, but got sorter tensor device "
        "type cpu and input value tensor device type cuda:0",
    ),
    row("where", lambda: torch.where(ones(2, on=A) > 0, ones(2, on=A), ones(2, on=B)), two(A, B)),
    row("where, condition on the CPU", lambda: torch.where(ones(2) > 0, ones(2, on=A), ones(2, on=A)), two(A, "cpu")),
    row("index_fill", lambda: ones(2, 2, on=A).index_fill_(0, longs(0), 1.0), two(A, "cpu")),
    row(
        "embedding",
        lambda: functional.embedding(longs(0), ones(2, 3, on=A)),
        offending("index", "cpu", A, "_index_select"),
    ),
    row(
        "embedding on another GPU",
        lambda: functional.embedding(longs(0, on=B), ones(2, 3, on=A)),
        offending("index", B, A, "_index_select"),
    ),
    row("index_select", lambda: ones(2, on=A).index_select(0, longs(0)), offending("index", "cpu", A, "_index_select")),
    row("gather", lambda: ones(2, 2, on=A).gather(1, longs(0).view(1, 1)), offending("index", "cpu", A, "gather")),
    row(
        "scatter",
        lambda: ones(2, 2, on=A).scatter(1, longs(0, on=B).view(1, 1), 1.0),
        offending("index", B, A, "scatter_value"),
    ),
    row(
        "scatter_add_",
        lambda: ones(2, 2, on=A).scatter_add_(1, longs(0, on=A).view(1, 1), ones(1, 1)),
        offending("src", "cpu", A, "scatter_add_"),
    ),
    row(
        "masked_select", lambda: ones(2, on=A).masked_select(ones(2) > 0), offending("mask", "cpu", A, "_masked_select")
    ),
    row(
        "bucketize",
        lambda: torch.bucketize(ones(2, on=A), ones(3)),
        offending("boundaries", "cpu", A, "Tensor_bucketize"),
    ),
    row(
        "searchsorted",
        lambda: torch.searchsorted(ones(3, on=A), ones(2)),
        offending("self", "cpu", A, "Tensor_searchsorted"),
    ),
    row("take", lambda: ones(2, on=A).take(longs(0)), offending("index", "cpu", A, "_take")),
    row("put_", lambda: ones(2, on=A).put_(longs(0), ones(1, on=A)), offending("index", "cpu", A, "_put_")),
    row(
        "index_add_",
        lambda: ones(2, on=A).index_add_(0, longs(0, on=A), ones(1)),
        offending("source", "cpu", A, "index_add_"),
    ),
    row(
        "index_copy", lambda: ones(2, on=A).index_copy(0, longs(0), ones(1)), offending("index", "cpu", A, "index_copy")
    ),
    row(
        "masked_fill",
        lambda: ones(2, on=A).masked_fill(ones(2) > 0, 0.0),
        "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
    ),
    row(
        "masked_fill on the CPU",
        lambda: ones(2).masked_fill(ones(2, on=A) > 0, 0.0),
        "expected self and mask to be on the same device, but got mask on cuda:0 and self on cpu",
    ),
    row(
        "masked_fill on the CPU, a tensor's value",
        lambda: ones(2).masked_fill(ones(2, on=A) > 0, scalar()),
        "masked_fill_: Expected inputs to be on same device",
    ),
    row("an index on another GPU", lambda: ones(2, on=A)[longs(0, on=B)], index_on(A)),
    row("a GPU's index for a CPU tensor", lambda: ones(2)[longs(0, on=A)], index_on("cpu")),
    row("a GPU's mask for a CPU tensor", lambda: ones(2)[ones(2, on=A) > 0], index_on("cpu")),
    row("assignment of a CPU value", lambda: assigned(ones(2, on=A), longs(0, 1), ones(2)), two(A, "cpu")),
    row("assignment of another GPU's value", lambda: assigned(ones(2, on=A), longs(0, 1), ones(2, on=B)), two(A, B)),
    row("assignment to a CPU tensor", lambda: assigned(ones(2), longs(0, 1), ones(2, on=A)), two(A, "cpu")),
    row(
        "index_put_ that accumulates",
        lambda: ones(2, on=A).index_put_((longs(0, on=A),), ones(1), accumulate=True),
        "expected device cuda:0 but got device cpu for value tensor",
    ),
    row(
        "quantile",
        lambda: torch.quantile(ones(2, on=A), ones(1)),
        "quantile() q tensor must be on the same device as the input tensor",
    ),
]


@pytest.mark.parametrize(("call", "message"), CASES)
def test_the_sentence_is_torchs(call: Case, message: str) -> None:
    check(call, message)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: torch.where(ones(2, on=B) > 0, ones(2, on=B), scalar()), id="where, 0-dim"),
        pytest.param(
            lambda: torch.where(ones(2, on=B) > 0, scalar(A), ones(2, on=B)), id="where, 0-dim on another GPU"
        ),
        pytest.param(lambda: ones(2, on=B).masked_fill(ones(2, on=B) > 0, scalar(A)), id="masked_fill's value"),
        pytest.param(lambda: ones(2, on=B)[longs(0)], id="a CPU index"),
        pytest.param(lambda: ones(2, on=B)[ones(2) > 0], id="a CPU mask"),
        pytest.param(lambda: assigned(ones(2, on=B), longs(0), scalar(A)), id="assignment of 0 dimensions"),
        pytest.param(lambda: assigned(ones(2, on=B), slice(0, 1), ones(1)), id="assignment to a slice copies"),
        pytest.param(lambda: assigned(ones(2, on=B), longs(0, on=A), 0.0), id="assignment by an index on another GPU"),
        pytest.param(lambda: assigned(ones(2, on=B), ones(2, on=B) > 0, ones(1)), id="one CPU element through a mask"),
    ],
)
def test_what_cuda_allows_is_allowed(call: Case) -> None:
    assert call().device == torch.device(B)
