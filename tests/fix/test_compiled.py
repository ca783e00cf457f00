"""Programs that compile what they run: searched as they are written, proved as they are compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from seeded import laboratory, quiet, script

from devsan.fix.search import search

pytestmark = pytest.mark.drawn(2)  # a search each

ROTARY = """\
import torch

class Table:
    def __init__(self, size, device=None):
        self.cos = torch.linspace(0, 1, size, device=device).cos()

class Net(torch.nn.Module):
    def __init__(self, device):
        super().__init__()
        self.table = Table(4)
        self.layer = torch.nn.Linear(4, 4, device=device)

    def forward(self, x):
        return self.layer(x) * self.table.cos

device = torch.device("cuda:0")
step = torch.compile(Net(device), backend="eager")
loss = step(torch.ones(2, 4, device=device)).sum()
loss.backward()
print(loss.item())
"""

ONLY_COMPILED = """\
import torch

def scale(x):
    if torch.compiler.is_compiling():
        return x * torch.ones(4)
    return x * torch.ones(4, device=x.device)

x = torch.ones(2, 4, device="cuda:0", requires_grad=True)
loss = torch.compile(scale, backend="eager")(x).sum()
loss.backward()
print(loss.item())
"""


def fixed(folder: Path, text: str) -> str:
    path = script(folder, text)
    with laboratory(folder, "train.py") as found:
        result = search(found, quiet)
        assert result.verified, [(trial.status, trial.changes) for trial in result.trials]
        change = result.verified[0].changes
        assert found.run({}, fresh=True).compiles
    (edit,) = [edit for each in change for edit in each.edits]
    assert edit.place.path == str(path)
    return edit.after


@pytest.mark.long
def test_the_mismatch_inside_has_its_operands_and_its_fix(tmp_path):
    assert fixed(tmp_path, ROTARY) == "Table(4, device=device)"


def test_what_fails_only_when_it_is_compiled_is_found_and_fixed(tmp_path):
    assert "device" in fixed(tmp_path, ONLY_COMPILED)


def test_a_program_that_compiles_nothing_says_so(tmp_path):
    script(tmp_path, "print(1)\n")
    with laboratory(tmp_path, "train.py") as found:
        assert not found.run().compiles
