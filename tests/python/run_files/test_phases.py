"""The phases of real programs, as their run files have them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

pytest.importorskip("torch")

TRAIN = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

call = nn.Module.__call__
first = nn.Linear(4, 4).cuda()
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).cuda()
optimizer = torch.optim.SGD([*first.parameters(), *model.parameters()], lr=0.1)
for _ in range(2):
    x = torch.randn(2, 4, device="cuda")
    loss = checkpoint(model, first(x), use_reentrant=False).sum()
    loss.backward()
    optimizer.step()
assert "__call__" in vars(nn.Module) and nn.Module.__call__ is call
"""

CLOSURE = """\
import torch
from torch import nn

model = nn.Linear(4, 1).cuda()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

def closure():
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4, device="cuda")).square().sum()
    loss.backward()
    return loss

optimizer.step(closure)
"""

FULL_GRAPH = """\
import torch

weight = torch.nn.Linear(4, 4).cuda()

@torch.compile(fullgraph=True, backend="eager")
def forward(x):
    return weight(x).relu()

print(forward(torch.ones(2, 4, device="cuda")).shape)
"""

FAILS_BACKWARD = """\
import torch

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient + torch.ones(3, device="cuda:1")

x = torch.ones(3, device="cuda:0", requires_grad=True)
Doubled.apply(x).sum().backward()
"""


def phases(run: dict[str, Any]) -> list[str]:
    spans = run["phases"]
    for before, after in itertools.pairwise(spans):
        assert before["time"] <= before["until"] <= after["time"]
    assert all(span["until"] <= run["end"]["time"] for span in spans)
    return [span["phase"] for span in spans]


def test_a_training_loop(programs: Any) -> None:
    code, _, error = programs.run(TRAIN, "--gpus", "1", "-orun.dvs")
    assert code == 0, error
    step = ["forward", "backward", "optimizer"]
    assert phases(programs.read()) == ["load", *step, *step]


def test_a_closure_runs_within_its_step(programs: Any) -> None:
    code, _, error = programs.run(CLOSURE, "--gpus", "1", "-orun.dvs")
    assert code == 0, error
    names = phases(programs.read())
    assert names[:4] == ["load", "optimizer", "backward", "optimizer"]
    assert names.count("backward") >= 2 and names[-1] == "optimizer"


def test_a_full_graph_is_compiled(programs: Any) -> None:
    code, printed, error = programs.run(FULL_GRAPH, "--gpus", "1", "-orun.dvs")
    assert (code, printed) == (0, "torch.Size([2, 4])\n"), error


def test_no_frame_of_devsan_is_in_the_traceback(programs: Any) -> None:
    code, _, error = programs.run(FAILS_BACKWARD, "--gpus", "2", "-orun.dvs")
    assert code == 1
    traceback = error[: error.index("RuntimeError")]
    assert "in _engine_run_backward" in traceback and "phases.py" not in traceback
    assert phases(programs.read()) == ["load", "backward"]


COMPILED_STEP = """\
import torch
from torch._dynamo.utils import counters

model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(2, 4, device="cuda")).sum().backward()

@torch.compile(backend="eager")
def step():
    optimizer.step()

step()
print(sum(counters["graph_break"].values()), counters["stats"]["unique_graphs"])
"""


@pytest.mark.long
def test_a_compiled_step_has_no_trace_of_the_phases(programs: Any) -> None:
    _, alone, error = programs.run(COMPILED_STEP, "--gpus", "1")
    assert alone, error
    code, printed, error = programs.run(COMPILED_STEP, "--gpus", "1", "-orun.dvs")
    assert (code, printed) == (0, alone), error


def test_memory_is_told_by_the_phase_that_took_it(programs: Any) -> None:
    code, _, error = programs.run(TRAIN.replace("nn.Linear(4, 4)", "nn.Linear(512, 512)").replace("(2, 4,", "(64, 512,")
                                  .replace("SGD", "Adam"), "--gpus", "1", "-orun.dvs")  # fmt: skip
    assert code == 0, error
    samples = programs.read()["memory"]["samples"]
    for each in samples:
        assert sum(each["taken_in"].values()) == each["allocated"]
    weights = 2 * 4 * (512 * 512 + 512)
    last = samples[-1]["taken_in"]
    assert weights <= last["load"] < 1.01 * weights
    assert 2 * weights <= last["optimizer"] < 2.02 * weights  # two moments
    assert last["backward"] >= weights  # the gradients are kept
