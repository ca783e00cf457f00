"""Of the modes of modules those are kept that the modules' own code reads."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from devsan.numbers.training_modes import training_modes


class Functional(nn.Module):
    def forward(self, x):
        return functional.dropout(x, 0.1, self.training)


class Nested(nn.Module):
    def forward(self, x):
        def drawn():
            return functional.dropout(x, 0.1, self.training)

        return drawn()


class Inherited(Functional):
    pass


# Made by the test: what stands in its parameters lives as long as the session, and is found by others' introspection.
@pytest.mark.parametrize("make", [nn.Dropout, lambda: nn.BatchNorm1d(2), Functional, Nested, Inherited])
def test_a_mode_that_is_read(make):
    both = nn.Sequential(nn.Linear(2, 2), make())
    assert training_modes(both) == [True]
    assert training_modes(both.eval()) == [False]
    assert training_modes(nn.Sequential(both, nn.Dropout())) == [False, True]


def test_a_mode_that_nothing_reads():
    shared = nn.Embedding(2, 2)
    target, draft = nn.Sequential(shared, nn.Dropout()).eval(), nn.Sequential(shared, nn.Dropout())
    draft.train()
    assert shared.training and training_modes(target) == [False]
    assert training_modes(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))) == []


def test_the_code_of_a_scripted_module_is_not_known():
    assert training_modes(torch.jit.script(nn.Linear(2, 2))) == [True]


def test_a_compiled_module_has_the_mode_of_its_own_one():
    assert training_modes(torch.compile(nn.Linear(2, 2), backend="eager")) == []
    assert training_modes(torch.compile(Functional().eval(), backend="eager")) == [False]
