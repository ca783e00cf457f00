"""What a program does already of what could make it fit."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devsan.blocks.levers import Levers  # noqa: E402


class Model(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    supports_gradient_checkpointing = True
    gradient_checkpointing = False

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return x

    def gradient_checkpointing_enable(self) -> None:
        self.gradient_checkpointing = True


CheckpointWrapper = type("CheckpointWrapper", (torch.nn.Identity,), {})  # of torch.distributed


@pytest.mark.parametrize(
    ("model", "turned_on", "lever", "state"),
    [
        (Model(torch.nn.Identity()), False, False, "off"),
        (Model(torch.nn.Identity()), True, False, "on"),  # by a Trainer, which places a model first
        (Model(CheckpointWrapper()), False, False, "on"),
        (Model(torch.nn.Identity()), False, True, "off"),  # the lever itself turns it on
        (torch.nn.Identity(), False, False, ""),
    ],
)
def test_checkpointing(model: Any, turned_on: bool, lever: bool, state: str) -> None:
    levers = Levers(0, lever, 0)
    levers.placed(model)
    if turned_on:
        model.gradient_checkpointing_enable()
    for _ in range(2):
        model(torch.ones(4, 3))
    assert levers.told()["checkpointing"] == state and levers.told()["batch"] == 4
    assert getattr(model, "gradient_checkpointing", False) is (lever or turned_on)
