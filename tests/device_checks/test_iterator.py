"""Elementwise operators: TensorIterator's sentence, and its one-way exemption for 0-dim operands."""

from __future__ import annotations

import pytest
import torch
from sentences import A, B, Case, check, ones, out_on, row, scalar, two
from torch.nn import functional


def asserted(number: int) -> str:
    """aten/src/ATen/native/cuda/Loops.cuh, gpu_kernel: in the words of torch 2.11, read on an H100."""
    return (
        'iter.device(arg).is_cuda() INTERNAL ASSERT FAILED at "/pytorch/aten/src/ATen/native/cuda/Loops.cuh":109, '
        f"please report a bug to PyTorch. argument {number}: expected a CUDA device but found cpu"
    )


CASES = [
    row("addcdiv takes no CPU scalar", lambda: torch.addcdiv(ones(2, on=A), scalar(), ones(2, on=A)), two(A, "cpu")),
    row("out= of a CPU scalar", lambda: torch.sin(scalar(), out=ones(2, on=A)), two(A, "cpu")),
    row("rsub, whose operands change places", lambda: torch.rsub(ones(2, on=A), ones(2, on=B)), two(B, A)),
    row(
        "sizes come before devices",
        lambda: ones(2, on=A) + ones(3),
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    row("cumsum, out=", lambda: torch.cumsum(ones(2, on=A), 0, out=ones(2, on=B)), out_on(A, B)),
    row("two GPUs", lambda: ones(2, on=A) + ones(2, on=B), two(A, B)),
    row("two GPUs, other order", lambda: ones(2, on=B) + ones(2, on=A), two(B, A)),
    row("GPU, CPU", lambda: ones(2, on=A) * ones(2), two(A, "cpu")),
    row("CPU, GPU", lambda: ones(2) * ones(2, on=A), two(A, "cpu")),
    row("in place", lambda: ones(2).add_(ones(2, on=B)), two(B, "cpu")),
    row("in place, on the GPU", lambda: ones(2, on=B).add_(ones(2)), two(B, "cpu")),
    row("out=", lambda: torch.add(ones(2, on=A), ones(2, on=A), out=ones(2, on=B)), two(B, A)),
    row("out= on the CPU", lambda: torch.add(ones(2, on=A), ones(2, on=A), out=ones(2)), two(A, "cpu")),
    row("out= on a GPU, of CPU tensors", lambda: torch.add(ones(2), ones(2), out=ones(2, on=A)), two(A, "cpu")),
    row("0-dim on a GPU, to CPU", lambda: ones(2) * scalar(A), two(A, "cpu")),
    row("0-dim on a GPU, in place on the CPU", lambda: ones(2).add_(scalar(A)), two(A, "cpu")),
    row("0-dim of two GPUs", lambda: scalar(A) + scalar(B), two(A, B)),
    row("0-dim on another GPU", lambda: ones(2, on=A) + scalar(B), two(A, B)),
    row("comparison", lambda: ones(2, on=A) == ones(2), two(A, "cpu")),
    row("maximum", lambda: torch.maximum(ones(2), ones(2, on=B)), two(B, "cpu")),
    row("atan2", lambda: torch.atan2(ones(2, on=A), ones(2, on=B)), two(A, B)),
    row("addcdiv", lambda: torch.addcdiv(ones(2, on=A), ones(2, on=B), ones(2, on=A)), two(A, B)),
    row(
        "two CPU scalars",
        lambda: torch.addcmul(ones(2, on=A), scalar(), scalar()),
        "Trying to pass too many CPU scalars to non-CPU kernel!",
    ),
    row("mse_loss", lambda: functional.mse_loss(ones(2, on=A), ones(2)), two(A, "cpu")),
    row("mse_loss takes no CPU scalar", lambda: functional.mse_loss(scalar(A), scalar()), two(A, "cpu")),
    row("lerp's end", lambda: torch.lerp(ones(2, on=A), scalar(), 0.5), asserted(2)),
    row("lerp's end, in place", lambda: scalar(A).lerp_(scalar(), 0.5), asserted(2)),
    row("smooth_l1_loss", lambda: functional.smooth_l1_loss(scalar(), scalar(A)), asserted(1)),
    row("lerp of lists", lambda: torch._foreach_lerp_([scalar(A)], [scalar()], 0.5), asserted(2)),
    row(
        "addcmul's first factor",
        lambda: torch.addcmul(ones(2, on=A), scalar(), ones(2, on=A)),
        "CPU Scalar support for tensor1 argument is not supported when calling addcmul on CUDA tensors. However, CPU "
        "Scalar support for tensor2 is supported, please swap your tensor1 and tensor2 terms.",
    ),
    row("binary_cross_entropy", lambda: functional.binary_cross_entropy(ones(2, on=A), ones(2)), two(A, "cpu")),
    row("sum, out=", lambda: torch.sum(ones(2, 2, on=A), 0, out=ones(2)), out_on(A, "cpu")),
]


@pytest.mark.parametrize(("call", "message"), CASES)
def test_the_sentence_is_torchs(call: Case, message: str) -> None:
    check(call, message)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: ones(2, on=B) * scalar(), id="0-dim on the CPU"),
        pytest.param(lambda: scalar() - ones(2, on=B), id="0-dim on the CPU, first"),
        pytest.param(lambda: scalar() + scalar(B), id="two of 0 dimensions"),
        pytest.param(lambda: ones(2, on=B).add_(scalar()), id="0-dim on the CPU, in place"),
        pytest.param(lambda: torch.lerp(ones(2, on=B), ones(2, on=B), scalar()), id="lerp's weight"),
        pytest.param(lambda: torch.addcmul(ones(2, on=B), ones(2, on=B), scalar()), id="addcmul's second factor"),
        pytest.param(lambda: ones(2, on=B).fill_(scalar(A)), id="fill_"),
        pytest.param(lambda: ones(2, on=B).copy_(ones(2, on=A)), id="copy_"),
    ],
)
def test_what_cuda_allows_is_allowed(call: Case) -> None:
    assert call().device == torch.device(B)
