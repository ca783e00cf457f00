"""What counts as a step of a program, by what its optimizers do."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import torch

from devsan.running import steps


@pytest.fixture
def counted():
    steps.end()  # of an emulation of the session
    seen: list[int] = []
    steps.begin(SimpleNamespace(count_step=lambda: seen.append(1)))
    yield seen
    steps.end()


def optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)


def test_each_step_of_one(counted):
    only = optimizer()
    for _ in range(3):
        only.step()
    assert len(counted) == 3


def test_an_optimizer_for_each_parameter(counted):
    several = [optimizer() for _ in range(5)]
    for _ in range(3):
        for each in several:
            each.step()
    assert len(counted) == 3


def test_one_that_steps_less_often_and_one_that_takes_over(counted):
    critic, generator, later = optimizer(), optimizer(), optimizer()
    for step in range(6):
        critic.step()
        if step % 3 == 2:
            generator.step()
    assert len(counted) == 6
    for _ in range(4):
        later.step()
    assert len(counted) == 6 + 3  # the first step of the new one may be of the same round as the last of the old


def test_nothing_is_counted_or_left_behind_after_the_end(counted):
    hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks  # type: ignore[attr-defined]
    before = len(hooks)
    steps.end()
    assert len(hooks) == before - 1
    optimizer().step()
    assert counted == []
