"""A default device lasts for the code that it was set for."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_a_builder_does_not_change_the_default_device_of_the_program(fixed: Fixed):
    assert fixed(
        """
import torch
from torch import nn

def build_on(device, factory):
    torch.set_default_device(device)
    return factory()

def noise(n):
    return torch.ones(n, 4)

torch.manual_seed(0)
torch.set_default_device("cuda:0")
first = build_on("cuda:0", lambda: nn.Linear(4, 4))
second = build_on("cuda:1", lambda: nn.Linear(4, 1))
with torch.no_grad():
    for _ in range(2):
        print(second(first(noise(3)).to("cuda:1")).sum().item())
""",
        gpus=2,
    ) == ["with torch.device(device):", "return factory()"]
