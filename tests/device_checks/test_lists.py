"""Lists of tensors: cat, stack, foreach, optimizers and their state."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from sentences import A, B, Case, check, offending, ones, row, scalar, two
from torch import nn


def step_after_move(optimizer: type[torch.optim.Optimizer], **options: Any) -> None:
    """The state is on the CPU, the parameters have moved since."""
    module = nn.Linear(2, 2)
    steps = optimizer(module.parameters(), lr=0.1, **options)  # type: ignore[call-arg]
    module(ones(1, 2)).sum().backward()
    steps.step()
    steps.zero_grad()
    module.to(A)
    module(ones(1, 2, on=A)).sum().backward()
    steps.step()


CASES = [
    row(
        "a 0-dim tensor for a list on another GPU",
        lambda: torch._foreach_mul([ones(2, on=A)], scalar(B)),
        "scalar tensor expected to be on cuda:0 but is on cuda:1",
    ),
    row(
        "the same, in place",
        lambda: torch.ops.aten._foreach_add_.Tensor([ones(2, on=A)], scalar()),
        "scalar tensor is expected to be on cuda:0 but is on cpu",
    ),
    row(
        "scalars of addcmul on a GPU",
        lambda: torch._foreach_addcmul([ones(2, on=A)], [ones(2, on=A)], [ones(2, on=A)], ones(1, on=A)),
        "Expected scalars to be on CPU, got cuda:0 instead.",
    ),
    row("the slow path", lambda: torch._foreach_mul([ones(2, on=A), ones(2)], [ones(2, on=A)] * 2), two(A, "cpu")),
    row(
        "_chunk_cat",
        lambda: torch._chunk_cat([ones(2, on=A), ones(2)], 0, 2),
        offending("tensors", "cpu", A, "__chunk_cat"),
    ),
    row("_foreach_add", lambda: torch._foreach_add([ones(2, on=A)], [ones(2, on=B)]), two(A, B)),
    row("Adam's state", lambda: step_after_move(torch.optim.Adam), two(A, "cpu")),
    row("SGD's momentum", lambda: step_after_move(torch.optim.SGD, momentum=0.9), two(A, "cpu")),
    row("Adagrad's state", lambda: step_after_move(torch.optim.Adagrad), two(A, "cpu")),
    row("cat", lambda: torch.cat([ones(2, on=A), ones(2, on=B)]), offending("tensors", B, A, "cat")),
    row("stack", lambda: torch.stack([ones(2), ones(2, on=A)]), offending("tensors", A, "cpu", "cat")),
    row(
        "fused AdamW's state",
        lambda: step_after_move(torch.optim.AdamW, fused=True),
        offending("exp_avgs", "cpu", A, "__fused_adamw_"),
    ),
]


@pytest.mark.parametrize(("call", "message"), CASES)
def test_the_sentence_is_torchs(call: Case, message: str) -> None:
    check(call, message)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: nn.utils.rnn.pad_sequence([ones(2, on=B), ones(3)]), id="pad_sequence copies"),
        pytest.param(lambda: torch._foreach_copy_([ones(2, on=B)], [ones(2)])[0], id="_foreach_copy_"),
        pytest.param(lambda: torch._foreach_mul([ones(2, on=B), ones(2, on=A)], 2.0)[0], id="a list on two GPUs"),
        pytest.param(lambda: torch._foreach_mul([ones(2, on=B)], scalar())[0], id="a 0-dim CPU tensor, read there"),
    ],
)
def test_what_cuda_allows_is_allowed(call: Case) -> None:
    assert call().device == torch.device(B)
