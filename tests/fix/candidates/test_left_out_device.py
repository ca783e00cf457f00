"""A call that leaves out the device gives it, before anything is moved where it is used."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]

PROGRAM = """
import torch

class Schedule:
    def __init__(self, steps, *, {parameter}=None):
        self.table = torch.linspace(0, 1, steps, device={parameter})

    def at(self, t):
        return self.table[t]

device = torch.device("cuda:0")
schedule = Schedule(10)
t = torch.randint(10, (4,), device=device)
weight = torch.ones(4, device=device, requires_grad=True)
(weight * schedule.at(t)).sum().backward()
print(weight.grad.sum().item())
"""


@pytest.mark.parametrize("parameter", ["device", "map_device"])
def test_the_call_gives_the_device(fixed: Fixed, parameter: str):
    assert fixed(PROGRAM.format(parameter=parameter)) == [f"schedule = Schedule(10, {parameter}=device)"]
