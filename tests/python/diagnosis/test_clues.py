"""What the clues of one program tell: its code, and the sentence that says why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LOADED = """
import torch

def merge(model, path):
    state = torch.load(path, map_location="cpu")
    for name, delta in state.items():
        model.get_submodule(name).weight.add_(delta, alpha=1 / len(state))

model = torch.nn.Sequential(torch.nn.Linear(3, 3)).to("cuda:0")
torch.save({"0": torch.ones(3, 3)}, "delta.pt")
with torch.no_grad():
    merge(model, "delta.pt")
"""

HOOKED = """
import torch
from accelerate import dispatch_model

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

model = dispatch_model(Net(), {"layers.0": 0, "layers.1": 1})
x = torch.ones(2, 3, device="cuda:0")
with torch.no_grad():
    vector = model(x).mean(0)

def steer(module, args, output):
    return output + vector

model.layers[1].register_forward_hook(steer)
model(x)
"""

REMEMBERED = """
import torch

class Schedule:
    def __init__(self, table):
        self.table = table

    def at(self, t):
        return self.table[t]

def make(steps, device=None):
    return Schedule(torch.linspace(0, 1, steps, device=device))

def main():
    schedule = make(10)
    schedule.at(torch.ones(2, dtype=torch.long, device="cuda:0"))

main()
"""

COPIED = """
import copy
import torch

class Agent:
    def __init__(self):
        self.online = torch.nn.Linear(3, 1)
        self.target = copy.deepcopy(self.online)
        self.online.to("cuda:0")

    def learn(self, x):
        return self.online(x) - self.target(x)

Agent().learn(torch.ones(2, 3, device="cuda:0"))
"""

TAKEN_OVER = """
import copy
import torch

class Member:
    def __init__(self, device):
        self.device, self.mean = device, torch.zeros(3, device=device)

    def normalized(self):
        return torch.ones(3, device=self.device) - self.mean

one, other = Member("cuda:0"), Member("cuda:1")
other.mean = copy.deepcopy(one.mean)
other.normalized()
"""

CACHED = """
import torch

TABLES = {}

def table(x):
    if x.shape[1] not in TABLES:
        TABLES[x.shape[1]] = torch.arange(x.shape[1], device=x.device).float()
    return TABLES[x.shape[1]]

class Scale(torch.nn.Module):
    def forward(self, x, rows):
        return x * rows

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x, table(x))

for gpu in range(2):
    x = torch.ones(2, 3).to(f"cuda:{gpu}")
    Net().to(x.device)(x)
"""

LENS = """
import torch
import torch.nn.functional as F
from accelerate import dispatch_model

model = torch.nn.ModuleDict({"body": torch.nn.Linear(3, 3), "head": torch.nn.Linear(3, 2)})
dispatch_model(model, {"body": 0, "head": 1})
states = []
model["body"].register_forward_hook(lambda module, args, output: states.append(output))
model["head"](model["body"](torch.ones(2, 3)))
weight = model["head"].weight
for state in states:
    F.linear(state.tanh(), weight)
"""

RESUMED = """
import torch

class Momentum:
    def __init__(self, params, state):
        self.params, self.m = params, state

    def step(self):
        for p, m in zip(self.params, self.m):
            update = m.mul(0.9).add(p.grad)

model = torch.nn.Linear(3, 1).to("cuda:1")
torch.save([torch.zeros_like(p) for p in model.parameters()], "momentum.pt")
optimizer = Momentum(list(model.parameters()), torch.load("momentum.pt", map_location="cuda:0"))
model(torch.ones(2, 3, device="cuda:1")).sum().backward()
optimizer.step()
"""

COLLATED = """
import torch

def collate(samples):
    lengths = torch.tensor([len(each) for each in samples])
    steps = torch.arange(4, device="cuda")
    return torch.stack(samples).to("cuda"), steps[None, :] < lengths[:, None]

loader = torch.utils.data.DataLoader([torch.ones(4) for _ in range(4)], batch_size=2, collate_fn=collate)
next(iter(loader))
"""

REPLICA = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.device = torch.device("cuda:0")
        self.rows = torch.nn.Embedding(4, 3)

    def forward(self, x):
        return x + self.rows(torch.arange(3, device=self.device)).sum()

net = torch.nn.DataParallel(Net().to("cuda:0"), device_ids=[0, 1])
net(torch.ones(4, 3, device="cuda:0"))
"""


@pytest.mark.parametrize(
    ("program", "code", "sentence"),
    [
        (LOADED, "DV103", "`delta` was read from a checkpoint to the CPU"),
        (HOOKED, "DV101", "accelerate's hook brought it back to cuda:0, where the inputs are"),
        (LENS, "DV101", "the line that combines them is not in a module"),
        (RESUMED, "DV101", "was read from a checkpoint to cuda:0"),
        (COLLATED, "DV102", "`steps` is created"),
        (REPLICA, "DV101", "was put on cuda:0 by one device value, `self.device`"),
        (COPIED, "DV105", "is a copy, at program.py:8, which is where the original was: on the CPU"),
        (TAKEN_OVER, "DV101", "`self.mean` is a copy, at program.py:13, which is where the original was: on cuda:0"),
        (CACHED, "DV113", "was computed by an earlier call"),
        (REMEMBERED, "DV103", "`self.table` is kept on the CPU by an object that is not a module"),
    ],
    ids=["loaded", "hooked", "lens", "resumed", "collated", "replica", "copied", "taken over", "cached", "remembered"],
)
@pytest.mark.long
def test_the_clues_tell_the_cause(
    program: str, code: str, sentence: str, tmp_path: Path, explained: Callable[[str, Path, int], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "program.py"
    file.write_text(program, encoding="utf-8")
    explanation = explained(program, file, 2)
    finding = explanation.findings[0]
    assert finding.code == code, list(finding.evidence)
    assert sentence in " ".join(str(each) for each in finding.evidence)


def test_a_weight_that_a_call_returns_is_the_models(tmp_path, explained, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "program.py"
    file.write_text(LOADED, encoding="utf-8")
    operands = {each.name: each for each in explained(LOADED, file, 1).facts.failure.operands}
    assert set(operands) == {"model.get_submodule(name).weight", "delta"}
    assert operands["model.get_submodule(name).weight"].qualified_name == "0.weight"


JOINED = """
import torch

class Problem:
    def __init__(self):
        self.rate = torch.tensor(0.0, requires_grad=True)

problem, layer = Problem(), torch.nn.Linear(3, 1).to("cuda:0")
optimizer = torch.optim.LBFGS([*layer.parameters(), problem.rate])

def closure():
    optimizer.zero_grad()
    loss = (layer(torch.ones(2, 3, device="cuda:0")) * problem.rate.exp()).sum()
    loss.backward()
    return loss

optimizer.step(closure)
"""


def test_a_gradient_is_called_by_its_parameter(tmp_path, explained):
    file = tmp_path / "program.py"
    file.write_text(JOINED, encoding="utf-8")
    explanation = explained(JOINED, file, 1)
    operands = {each.name: each for each in explanation.facts.failure.operands}
    assert set(operands) == {"views[0]", "views[1]", "problem.rate"}
    assert operands["problem.rate"].provenance[-1].stack[0].span.line == 6
    assert explanation.findings[0].code == "DV103", "it was made on the CPU when its object was"
