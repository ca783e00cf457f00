"""Accelerator.prepare gets what was left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]

pytest.importorskip("accelerate")


def test_accelerate_prepares_the_loader_as_well(fixed: Fixed):
    (line,) = fixed("""
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()
model = torch.nn.Linear(3, 1)
loader = DataLoader(torch.randn(4, 3), batch_size=2)
model = accelerator.prepare(model)
for x in loader:
    accelerator.backward(model(x).sum())
""")
    assert line == "model, loader = accelerator.prepare(model, loader)"


def test_accelerate_prepares_all_that_was_left_out_at_once(fixed: Fixed):
    (line,) = fixed("""
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()
student, teacher = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
loader, valid = DataLoader(torch.randn(4, 3), batch_size=2), DataLoader(torch.randn(4, 3), batch_size=2)
student, loader = accelerator.prepare(student, loader)
for x in loader:
    accelerator.backward((student(x) - teacher(x)).sum())
for x in valid:
    print(student(x).sum().item())
""")
    assert line == "student, loader, teacher, valid = accelerator.prepare(student, loader, teacher, valid)"


def test_a_loader_that_a_function_of_the_program_makes(fixed: Fixed):
    (line,) = fixed("""
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

def loaders():
    return DataLoader(torch.randn(4, 3), batch_size=2), DataLoader(torch.randn(4, 3), batch_size=2)

accelerator = Accelerator()
model = torch.nn.Linear(3, 1)
train_loader, val_loader = loaders()
model, train_loader = accelerator.prepare(model, train_loader)
for x in train_loader:
    accelerator.backward(model(x).sum())
for x in val_loader:
    print(model(x).sum().item())
""")
    assert line == "model, train_loader, val_loader = accelerator.prepare(model, train_loader, val_loader)"
