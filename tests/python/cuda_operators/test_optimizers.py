"""Optimizers in CUDA's fused, foreach and capturable forms, with and without a gradient scaler."""

from __future__ import annotations

from typing import Any

import pytest
import torch

GPU = torch.device("cuda:1")
OPTIMIZERS = [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad]


def trained(device: torch.device | str, optimizer: Any, **options: Any) -> torch.Tensor:
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 3).to(device)
    steps = optimizer(layer.parameters(), lr=0.1, **options)
    for _ in range(3):
        steps.zero_grad()
        layer(torch.ones(2, 4, device=device)).pow(2).sum().backward()
        steps.step()
    return layer.weight.detach().cpu()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("form", ["fused", "foreach", "capturable"])
def test_a_form_of_an_optimizer_steps_as_on_the_cpu(optimizer: Any, form: str) -> None:
    if form == "capturable" and optimizer in (torch.optim.SGD, torch.optim.Adagrad):
        with pytest.raises(TypeError, match="capturable"):
            trained(GPU, optimizer, capturable=True)
        return
    torch.testing.assert_close(trained(GPU, optimizer, **{form: True}), trained("cpu", optimizer))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_fused_optimizer_skips_a_step_with_infinite_gradients(optimizer: Any) -> None:
    layer = torch.nn.Linear(4, 3).to(GPU)
    steps = optimizer(layer.parameters(), lr=0.1, fused=True)
    scaler = torch.amp.GradScaler("cuda", init_scale=64.0)
    for turn in range(3):
        steps.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = layer(torch.ones(2, 4, device=GPU)).float().pow(2).sum()
        scaler.scale(loss).backward()
        if turn == 1:
            layer.weight.grad[0, 0] = float("inf")
        before = layer.weight.detach().clone()
        scaler.step(steps)
        scaler.update()
        assert torch.equal(before, layer.weight) == (turn == 1)
        assert scaler.get_scale() == (64 if turn == 0 else 32)
