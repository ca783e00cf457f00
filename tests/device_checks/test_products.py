"""Products, solvers and other operators whose CUDA wrapper has the generated check."""

from __future__ import annotations

import pytest
import torch
from sentences import A, B, Case, check, longs, offending, ones, row, scalar
from torch.nn import functional

CASES = [
    row("mm", lambda: ones(2, 3, on=A) @ ones(3, 2), offending("mat2", "cpu", A, "mm")),
    row("mm of the CPU by a GPU", lambda: ones(2, 3) @ ones(3, 2, on=A), offending("mat2", A, "cpu", "mm")),
    row("mm of two GPUs", lambda: ones(2, 3, on=A) @ ones(3, 2, on=B), offending("mat2", B, A, "mm")),
    row(
        "linear, input on the CPU",
        lambda: functional.linear(ones(2, 3), ones(4, 3, on=A), ones(4, on=A)),
        offending("mat1", "cpu", A, "addmm"),
    ),
    row(
        "linear, input on another GPU",
        lambda: functional.linear(ones(2, 3, on=A), ones(4, 3, on=B), ones(4, on=B)),
        offending("mat1", A, B, "addmm"),
    ),
    row(
        "linear of three dimensions, no bias",
        lambda: functional.linear(ones(2, 2, 3, on=A), ones(4, 3, on=B)),
        offending("mat2", B, A, "mm"),
    ),
    row("bmm", lambda: torch.bmm(ones(1, 2, 3, on=A), ones(1, 3, 2)), offending("mat2", "cpu", A, "bmm")),
    row("einsum", lambda: torch.einsum("ij,jk", ones(2, 3, on=A), ones(3, 2, on=B)), offending("mat2", B, A, "bmm")),
    row("dot", lambda: torch.dot(ones(3, on=A), ones(3)), offending("tensor", "cpu", A, "_dot")),
    row("mv", lambda: torch.mv(ones(2, 3, on=A), ones(3)), offending("mat", A, "cpu", "addmv_")),
    row("clamp", lambda: torch.clamp(ones(2, on=A), scalar(), scalar()), offending("min", "cpu", A, "clamp_Tensor")),
    row(
        "linalg.solve",
        lambda: torch.linalg.solve(ones(1, 1, on=A), ones(1)),
        offending("B", "cpu", A, "_linalg_solve_ex"),
    ),
    row("equal", lambda: torch.equal(ones(2, on=A), ones(2, on=B)), offending("other", B, A, "_equal")),
    row(
        "multinomial, out=",
        lambda: torch.multinomial(ones(3, on=A), 2, out=longs(0, 0)),
        offending("self", A, "cpu", "out_multinomial_out"),
    ),
]


@pytest.mark.parametrize(("call", "message"), CASES)
def test_the_sentence_is_torchs(call: Case, message: str) -> None:
    check(call, message)
