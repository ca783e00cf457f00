"""Sparse and nested operands: CUDA has wrappers of their own for them, and names these."""

from __future__ import annotations

import pytest
import torch
from sentences import A, B, Case, check, longs, offending, ones, row
from torch.nn import functional

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def sparse(on: str) -> torch.Tensor:
    return torch.eye(2, device=on).to_sparse()


def compressed(on: str) -> torch.Tensor:
    return torch.eye(2, device=on).to_sparse_csr()


def nested(on: str) -> torch.Tensor:
    return torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], device=on)


CASES = [
    row("mm", lambda: torch.mm(sparse(A), ones(2, 2, on=B)), offending("mat2", B, A, "_mm", "SparseCUDA")),
    row(
        "mm, dense on the CPU",
        lambda: torch.mm(sparse(A), ones(2, 2)),
        offending("mat2", "cpu", A, "_mm", "SparseCUDA"),
    ),
    row(
        "addmm",
        lambda: torch.addmm(ones(2, 2, on=A), sparse(A), ones(2, 2, on=B)),
        offending("mat2", B, A, "_addmm", "SparseCUDA"),
    ),
    row(
        "sparse by sparse",
        lambda: torch.sparse.mm(sparse(A), sparse(B)),
        offending("other", B, A, "__sparse_sparse_matmul", "SparseCUDA"),
    ),
    row(
        "sparse_mask",
        lambda: ones(2, 2, on=A).sparse_mask(sparse(B)),
        offending("mask", B, A, "_sparse_mask", "SparseCUDA"),
    ),
    row(
        "CSR by dense",
        lambda: torch.mm(compressed(A), ones(2, 2, on=B)),
        offending("mat2", B, A, "_mm", "SparseCsrCUDA"),
    ),
    row(
        "values on another GPU",
        lambda: torch.sparse_coo_tensor(longs(0, on=A).view(1, 1), ones(1, on=B), (2,)),
        offending("values", B, A, "__sparse_coo_tensor_with_dims_and_tensors", "SparseCUDA"),
    ),
]


def one_gpu(tensors: str) -> str:
    return (
        f"Expected cuda::check_device({{{tensors}}}) to be true, but got false.  (Could this error message be improved?"
        "  If so, please report an enhancement request to PyTorch.)"
    )


def dense(on: str) -> torch.Tensor:
    return torch.ones(2, 2, device=on)


MASK = "Expected all tensors to be on the same device, but got mask is on {}, different from other tensors on {} " + (
    "(when checking argument in method wrapper_SparseCsrCUDA__sparse_mask)"
)
# aten/src/ATen/native/sparse/cuda/SparseCUDATensorMath.cu and SparseCsrTensorMath.cu: the kernels' own checks.
OWN = [
    row("add, two GPUs", lambda: sparse(A) + sparse(B), one_gpu("r_, t, src")),
    row("add_, two GPUs", lambda: sparse(A).add_(sparse(B)), one_gpu("r_, t, src")),
    row("sub, two GPUs", lambda: sparse(A) - sparse(B), one_gpu("r_, t, src")),
    row("add a CPU one", lambda: sparse(A) + sparse("cpu"), "add: expected 'other' to be CUDA, but got CPU"),
    row("add to a CPU one", lambda: sparse("cpu") + sparse(A), "add: expected 'self' to be CUDA, but got CPU"),
    row(
        "add into a CPU one",
        lambda: torch.add(sparse(A), sparse(A), out=sparse("cpu")),
        "add: expected 'out' to be CUDA, but got CPU",
    ),
    row("dense add, two GPUs", lambda: dense(A) + sparse(B), one_gpu("sparse, r_, dense")),
    row(
        "dense add a CPU one",
        lambda: dense(A) + sparse("cpu"),
        "add: expected 'other' to be a CUDA tensor, but got a CPU tensor",
    ),
    row(
        "add to a dense CPU one",
        lambda: dense("cpu") + sparse(A),
        "add: expected 'self' to be a CUDA tensor, but got a CPU tensor",
    ),
    row(
        "layouts come first",
        lambda: sparse(A) + dense(B),
        "add(sparse, dense) is not supported. Use add(dense, sparse) instead.",
    ),
    row("mul, two GPUs", lambda: sparse(A) * sparse(B), one_gpu("r_, t_, src_")),
    row("mul by a CPU one", lambda: sparse(A) * sparse("cpu"), "mul: expected 'other' to be CUDA, but got CPU"),
    row("mul of a CPU one", lambda: sparse("cpu") * sparse(A), "mul: expected 'out' to be CUDA, but got CPU"),
    row(
        "CSR add a CPU one",
        lambda: compressed(A) + compressed("cpu"),
        "add: expected 'other' to be CUDA tensor, but got tensor on device: cpu",
    ),
    row(
        "dense add a CSR one on the CPU",
        lambda: dense(A) + compressed("cpu"),
        "add: expected 'other' to be a CUDA tensor, but got tensor on device: cpu",
    ),
    row("CSR mul, two GPUs", lambda: compressed(A) * compressed(B), one_gpu("r_, t_, src_")),
    row("CSR mul by dense", lambda: compressed(A) * dense(B), MASK.format(A, B)),
    row("dense mul by CSR", lambda: dense("cpu") * compressed(A), MASK.format(A, "cpu")),
]


@pytest.mark.parametrize(("call", "message"), OWN)
def test_kernels_check_in_their_own_words(call: Case, message: str) -> None:
    check(call, message)


@pytest.mark.parametrize(("on", "elsewhere"), [(A, B), (A, "cpu"), ("cpu", A)])
def test_a_dense_factor_is_indexed_by_the_sparse_one(on: str, elsewhere: str) -> None:
    if elsewhere == "cpu":  # the result is made where the sparse factor is
        message = "mul: expected 'out' to be CUDA, but got CPU"
        with pytest.raises(RuntimeError) as failure:
            dense(on) * sparse(elsewhere)
    else:
        message = f"indices should be either on cpu or on the same device as the indexed tensor ({on})"
        with pytest.raises(IndexError) as failure:
            dense(on) * sparse(elsewhere)
    assert str(failure.value) == message


def test_a_number_on_the_cpu_joins_the_values() -> None:
    two = torch.tensor(2.0)
    for on_gpu in (sparse(A), compressed(A)):
        assert (on_gpu * two).to_dense().tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert (sparse(A) / two).to_dense().tolist() == [[0.5, 0.0], [0.0, 0.5]]


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
