"""A change that only silences a failure is rejected by its numbers, an honest one is verified."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from seeded import change, stage

from devsan.fix.change import texts
from devsan.fix.experiment import Laboratory
from devsan.fix.job import Job
from devsan.fix.reference_run import Reference, find_reference
from devsan.fix.trial import try_changes
from devsan.options import Options

pytestmark = pytest.mark.drawn(3)  # a search each

# The learning rate is so small that no weight shows a step.
PROGRAM = """\
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8).to("cuda:0")
        self.second = nn.Linear(8, 1).to("cuda:1")
        self.dropout = nn.Dropout(0.5)
        self.idle = nn.Dropout(0.0)

    def forward(self, x):
        hidden = self.idle(self.dropout(self.first(x)))
        return self.second(hidden)


def train_one(model, optimizer, x, y):
    out = model(x.to("cuda:0"))
    loss = nn.functional.mse_loss(out, y.to(out.device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def evaluate(model, rows):
    out = model.second(model.first(rows.tensors[0].to("cuda:0")).relu())
    print("best", out.max().item())


def main():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    rows = TensorDataset(torch.randn(8, 4), torch.randn(8, 1))
    model.train()
    for x, y in DataLoader(rows, batch_size=2, shuffle=True):
        train_one(model, optimizer, x, y)
    evaluate(model, rows)


main()
"""

CREATED = ('nn.Linear(8, 1).to("cuda:1")', 'nn.Linear(8, 1).to("cuda:0")')
USED = ("return self.second(hidden)", 'return self.second(hidden.to("cuda:1"))')
EVALUATED = ("model.second(model.first(rows.tensors[0].to(\"cuda:0\")).relu())",
             "model.second(model.first(rows.tensors[0].to(\"cuda:0\")).relu().to(\"cuda:1\"))")  # fmt: skip

HONEST = {
    "the creation site": [CREATED],
    "both use sites": [USED, EVALUATED],
    "a workaround that moves at each call": [
        ("        self.dropout =", "        self.second.register_forward_pre_hook("
         "lambda module, inputs: (inputs[0].to('cuda:1'),))\n        self.dropout ="),
    ],
}  # fmt: skip

SILENCING = {
    "detach": [EVALUATED, ("return self.second(hidden)", 'return self.second(hidden.detach().to("cuda:1"))')],
    "no_grad": [
        EVALUATED, ("return self.second(hidden)", 'return self.second(torch.no_grad()(lambda: hidden.to("cuda:1"))())'),
    ],
    "a layer that is left out": [EVALUATED, ("return self.second(hidden)", "return hidden.sum(1, keepdim=True)")],
    "try": [
        EVALUATED,
        ("        train_one(model, optimizer, x, y)",
         "        try:\n            train_one(model, optimizer, x, y)\n        except RuntimeError:\n            pass"),
    ],
    "try around what only prints": [
        USED, ("    evaluate(model, rows)\n",
               "    try:\n        evaluate(model, rows)\n    except RuntimeError:\n        pass\n"),
    ],
    "a copy that no optimizer holds": [
        EVALUATED, ("return self.second(hidden)", 'return copy.deepcopy(self.second).to("cuda:0")(hidden)'),
    ],
    "a parameter that is made anew behind the optimizer": [
        ("    model.train()\n",
         '    model.second.weight = nn.Parameter(model.second.weight.to("cuda:0"))\n'
         '    model.second.bias = nn.Parameter(model.second.bias.to("cuda:0"))\n    model.train()\n'),
    ],
    "a frozen parameter": [(CREATED[0], CREATED[1] + ".requires_grad_(False)")],
    "fewer steps": [CREATED, ("batch_size=2", "batch_size=4")],
    "a scaled loss": [CREATED, ("    loss.backward()", "    (loss * 0.5).backward()")],
    "another learning rate": [CREATED, ("lr=1e-9", "lr=1e-10")],
    "eval": [CREATED, ("model.train()", "model.eval()")],
    "eval of what draws nothing": [CREATED, ("self.idle = nn.Dropout(0.0)", "self.idle = nn.Dropout(0.0).eval()"),
                                   ("model.train()", "model.dropout.train()")],
    "no steps": [CREATED, ("    optimizer.step()\n", "")],
}  # fmt: skip


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("silencing") / "train.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def reference(script: Path) -> Iterator[Reference]:
    job = Job(
        Options().updated({"gpus": "2"}), ("train.py",), str(script.parent), {**os.environ, "OMP_NUM_THREADS": "1"}
    )
    with Laboratory(job, 120, stage=stage()) as laboratory:
        found = find_reference(laboratory, lambda *_: None)
        assert found.outcome is not None and found.kind == "meeting"
        yield found


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_change_is_verified(reference: Reference, script: Path, name: str):
    trial = try_changes(reference.laboratory, reference, (change(script, *HONEST[name]),))
    assert trial.status == "verified", (trial.comparison, trial.outcome)
    assert trial.comparison is not None
    assert set(trial.comparison.compared) == {"loss", "gradients", "steps", "weights", "output", "value"}


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", SILENCING)
def test_a_silencing_change_is_rejected(reference: Reference, script: Path, name: str):
    trial = try_changes(reference.laboratory, reference, (change(script, *SILENCING[name]),))
    assert trial.outcome is not None and trial.outcome.ended, trial.outcome
    assert trial.status == "rejected", trial.comparison


@pytest.mark.long
def test_what_the_observer_reads_is_no_transfer_and_no_memory(reference: Reference, script: Path):
    fixed = reference.laboratory.run(texts(change(script, CREATED).edits))
    with Laboratory(reference.laboratory.job, 120) as other:
        plain = other.run(texts(change(script, CREATED).edits), observed=False)
    assert (fixed.transfers, fixed.transferred, fixed.peaks) == (plain.transfers, plain.transferred, plain.peaks)
    assert plain.numbers == {} and plain.transfers > 0


def test_a_change_that_leaves_the_gpu_is_rejected(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        """\
import torch
model = torch.nn.Linear(3, 1).cuda()
loss = model(torch.ones(2, 3)).mean()
loss.backward()
print(loss.item())
""",
        encoding="utf-8",
    )
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}
    job = Job(Options().updated({"gpus": "1"}), (str(script),), str(tmp_path), environ)
    with Laboratory(job, 120, stage=stage()) as laboratory:
        reference = find_reference(laboratory, lambda *_: None)
        away = try_changes(laboratory, reference, (change(script, (".cuda()", "")),))
        moved = try_changes(laboratory, reference, (change(script, ("torch.ones(2, 3)", "torch.ones(2, 3).cuda()")),))
    assert (away.status, str(away.comparison.difference)) == ("rejected", "nothing is left on a GPU")
    assert moved.status == "verified"
