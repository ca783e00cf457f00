"""What an earlier program left alive says nothing of a later failure; what the variables lead to does."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

_LEFT: list[Any] = []

LATE_STEP = """
import torch

class Training:
    def __init__(self):
        self.net = torch.nn.Linear(4, 4)
        self.parts = {"optimizer": torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9, foreach=False)}

    def step(self, device):
        self.net.to(device)
        self.net(torch.ones(2, 4, device=device)).sum().backward()
        self.parts["optimizer"].step()

training = Training()
training.step("cpu")
training.step("cuda:1")
"""

GRADIENT = """
import torch
a = torch.nn.Parameter(torch.ones(3, device="cuda:1"))
a.grad = torch.ones(3)
"""


@pytest.fixture
def run(explained: Callable[[str, Path, int], Any], tmp_path: Path) -> Callable[[str], Any]:
    def program(text: str) -> Any:
        file = tmp_path / "program.py"
        file.write_text(text, encoding="utf-8")
        linecache.checkcache(str(file))
        return explained(text, file, 2)

    return program


def test_what_is_left_alive_is_not_told_of(run: Callable[[str], Any]) -> None:
    _LEFT.append(torch.nn.DataParallel(torch.nn.Linear(2, 2)))
    _LEFT.append(torch.optim.Adam(_LEFT[0].parameters()))
    explanation = run(GRADIENT)
    assert list(explanation.facts.models) == []
    assert list(explanation.facts.optimizers) == []
    _LEFT.clear()


def test_the_optimizer_of_an_object_is_found_with_its_line(run: Callable[[str], Any]) -> None:
    _LEFT.append(torch.optim.AdamW(torch.nn.Linear(2, 2).parameters()))
    facts = run(LATE_STEP).facts
    [optimizer] = facts.optimizers
    assert optimizer.type == "torch.optim.SGD"
    assert optimizer.built.site.source.startswith('self.parts = {"optimizer": torch.optim.SGD(')
    assert 0 < optimizer.built.sequence < facts.models[0].placements[-1].sequence
    assert [state.key for state in optimizer.states] == ["momentum_buffer"] * 2
    _LEFT.clear()


def test_the_last_load_is_known_from_the_states(run: Callable[[str], Any]) -> None:
    load = """state = training.parts["optimizer"].state_dict()
training.net.to("cuda:0")
training.parts["optimizer"].load_state_dict(state)
training.step("cuda:1")
"""
    [optimizer] = run(LATE_STEP.replace('training.step("cuda:1")\n', load)).facts.optimizers
    assert optimizer.loaded.site.source == 'training.parts["optimizer"].load_state_dict(state)'


def test_who_set_the_default_device(run: Callable[[str], Any]) -> None:
    text = """
import torch
torch.set_default_device("cuda:0")
torch.ones(3) + torch.ones(3, device="cuda:1")
"""
    process = run(text).facts.process
    assert str(process.default_device) == "cuda:0"
    assert process.default_set.site.source == 'torch.set_default_device("cuda:0")'
