"""torch.utils.checkpoint on emulated GPUs."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
)

GPU = "cuda:1"
Same = Callable[..., None]
either = pytest.mark.parametrize("use_reentrant", [True, False])


@either
def test_gradients_are_those_of_the_cpu(same: Same, use_reentrant: bool) -> None:
    values = torch.randn(3, 4)

    def gradients(device: str) -> list[Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4)).to(device)
        x = values.to(device).clone().requires_grad_()
        checkpoint(model, x, use_reentrant=use_reentrant).sum().backward()
        checkpoint_sequential(model, 2, x, use_reentrant=use_reentrant).sum().backward()
        return [x.grad, *(parameter.grad for parameter in model.parameters())]

    for actual, expected in zip(gradients(GPU), gradients("cpu"), strict=True):
        same(actual, expected)


@either
def test_each_gpu_draws_the_same_numbers_again(use_reentrant: bool) -> None:
    masks = []

    def drop(a: Tensor, b: Tensor) -> Tensor:
        a, b = F.dropout(a, 0.5), F.dropout(b, 0.5)
        masks.append((a.detach() != 0, b.detach() != 0))
        return a.sin().sum().to(b.device) + b.sin().sum()

    a = torch.ones(64, 64, device="cuda:0", requires_grad=True)
    b = torch.ones(64, 64, device=GPU, requires_grad=True)
    loss = checkpoint(drop, a, b, use_reentrant=use_reentrant)
    torch.rand(5, device="cuda:0")
    torch.rand(3, device=GPU)
    states = torch.cuda.get_rng_state_all()
    loss.backward()
    assert len(masks) == 2
    assert all(torch.equal(first, second) for first, second in zip(*masks, strict=True))
    assert torch.equal(a.grad != 0, masks[0][0]) and torch.equal(b.grad != 0, masks[0][1])
    assert all(map(torch.equal, states, torch.cuda.get_rng_state_all()))


def test_autocast_is_entered_again() -> None:
    layer, seen = nn.Linear(4, 4).to(GPU), []

    def call(x: Tensor) -> Tensor:
        output = layer(x)
        seen.append(output.dtype)
        return output.sin()

    with torch.autocast("cuda", dtype=torch.bfloat16):
        output = checkpoint(call, torch.ones(3, 4, device=GPU, requires_grad=True), use_reentrant=False)
    output.float().sum().backward()
    assert seen == [torch.bfloat16] * 2


def test_selective(same: Same) -> None:
    calls = []

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            calls.append(str(function))
            return function(*args, **(kwargs or {}))

    def policy(context, operator, *args, **kwargs) -> CheckpointPolicy:
        kept = operator == torch.ops.aten.mm.default
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

    a, b = torch.randn(4, 4), torch.randn(4, 4)
    weight = b.to(GPU).requires_grad_()
    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    with Count():
        output = checkpoint(lambda x: (x @ weight).sin().exp(), a.to(GPU), use_reentrant=False, context_fn=contexts)
        before = calls.count("aten.sin.default"), calls.count("aten.mm.default")
        output.sum().backward()
    assert before == (1, 1)
    assert (calls.count("aten.sin.default"), calls.count("aten.mm.default")) == (2, 2)  # the second mm: the gradient's
    b.requires_grad_()
    (a @ b).sin().exp().sum().backward()
    same(weight.grad, b.grad)


def test_a_recomputation_that_differs_is_noticed() -> None:
    calls = []

    def unsteady(x: Tensor) -> Tensor:
        calls.append(x)
        return x.sin() * (x.cos() if len(calls) == 1 else 1.0)

    output = checkpoint(unsteady, torch.ones(3, device=GPU, requires_grad=True), use_reentrant=False)
    with pytest.raises(torch.utils.checkpoint.CheckpointError, match="different number of tensors"):
        output.sum().backward()
