"""The member of an object that is on another GPU than all else that the object has."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

import devsan
from devsan.introspect.frames.frames import frames_of
from devsan.introspect.models.members import Member, lone_member


class Sampler:
    def __init__(self, table: Any, **members: Any) -> None:
        self.table = table
        vars(self).update(members)

    def read(self) -> Member | None:
        tensor = self.table if isinstance(self.table, torch.Tensor) else self.table["betas"]
        try:
            raise RuntimeError("here")
        except RuntimeError:
            return lone_member(tensor, frames_of(sys.exc_info()[2]))


@pytest.fixture(autouse=True)
def gpus():
    with devsan.emulate(gpus=3):
        yield


def betas(device: str) -> torch.Tensor:
    return torch.ones(3, device=device)


def test_what_an_object_was_given_of_another_gpu():
    net = torch.nn.Linear(2, 2).to("cuda:1")
    found = Sampler({"betas": betas("cuda:0")}, net=net, device="cuda:1").read()
    assert found is not None and found[:3] == ("self.table", "Sampler", "cuda:1")


@pytest.mark.parametrize("members", [
    {},
    {"steps": 3, "name": "ddim"},
    {"first": "cuda:1", "second": "cuda:2"},
    {"device": "cuda:0"},
    {"net": None},
])  # fmt: skip
def test_nothing_is_told_of_an_object_that_says_nothing_or_several_devices(members):
    assert Sampler(betas("cuda:0"), **members).read() is None


def test_one_network_alone_does_not_say_where_an_object_is():
    assert Sampler(betas("cuda:0"), net=torch.nn.Linear(2, 2).to("cuda:1")).read() is None
    both = {name: torch.nn.Linear(2, 2).to("cuda:1") for name in ("net", "average")}
    assert Sampler(betas("cuda:0"), **both).read() is not None
