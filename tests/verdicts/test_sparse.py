"""Sparse and nested operands: CUDA has wrappers of their own for them, and names these."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional
from wordings import A, B, Case, check, longs, odd, ones, row

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def sparse(on: str) -> torch.Tensor:
    return torch.eye(2, device=on).to_sparse()


def compressed(on: str) -> torch.Tensor:
    return torch.eye(2, device=on).to_sparse_csr()


def nested(on: str) -> torch.Tensor:
    return torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], device=on)


CASES = [
    row("mm", lambda: torch.mm(sparse(A), ones(2, 2, on=B)), odd("mat2", B, A, "_mm", "SparseCUDA")),
    row("mm, dense on the CPU", lambda: torch.mm(sparse(A), ones(2, 2)), odd("mat2", "cpu", A, "_mm", "SparseCUDA")),
    row(
        "addmm",
        lambda: torch.addmm(ones(2, 2, on=A), sparse(A), ones(2, 2, on=B)),
        odd("mat2", B, A, "_addmm", "SparseCUDA"),
    ),
    row(
        "sparse by sparse",
        lambda: torch.sparse.mm(sparse(A), sparse(B)),
        odd("other", B, A, "__sparse_sparse_matmul", "SparseCUDA"),
    ),
    row(
        "sparse_mask", lambda: ones(2, 2, on=A).sparse_mask(sparse(B)), odd("mask", B, A, "_sparse_mask", "SparseCUDA")
    ),
    row("CSR by dense", lambda: torch.mm(compressed(A), ones(2, 2, on=B)), odd("mat2", B, A, "_mm", "SparseCsrCUDA")),
    row(
        "values on another GPU",
        lambda: torch.sparse_coo_tensor(longs(0, on=A).view(1, 1), ones(1, on=B), (2,)),
        odd("values", B, A, "__sparse_coo_tensor_with_dims_and_tensors", "SparseCUDA"),
    ),
]


@pytest.mark.parametrize(("call", "message"), CASES)
def test_the_sentence_names_the_sparse_wrapper(call: Case, message: str) -> None:
    check(call, message)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: nested(A) + nested(B), id="add"),
        pytest.param(lambda: functional.linear(nested(A), ones(3, 3, on=B)), id="linear"),
    ],
)
def test_nested_operands_on_two_gpus_are_refused(call: Case) -> None:
    with pytest.raises(RuntimeError, match=r"^Expected all tensors to be on the same device"):
        call()
