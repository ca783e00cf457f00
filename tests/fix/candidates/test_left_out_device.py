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


def test_so_does_a_call_of_a_library_that_moves_what_it_is_told_to(fixed: Fixed):
    assert fixed("""
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)))

    def forward(self, x):
        return self.features(x).mean((2, 3))

torch.manual_seed(0)
device = torch.device("cuda:0")
swa = AveragedModel(Net(), device=device)
update_bn([torch.randn(2, 1, 5, 5) for _ in range(2)], swa)
print(swa.module.features[0][1].running_mean.sum().item())
""") == ["update_bn([torch.randn(2, 1, 5, 5) for _ in range(2)], swa, device=device)"]
