"""A module moves before what is made from its parameters; state that is there already follows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devsan.fix.search import Search

Fixed = Callable[..., list[str]]


def test_the_copy_of_weights_is_made_after_the_move(fixed: Fixed):
    assert fixed("""
import torch

model = torch.nn.Linear(3, 1)
average = [each.detach().clone() for each in model.parameters()]
model.to("cuda")
with torch.no_grad():
    for mean, weight in zip(average, model.parameters()):
        mean.lerp_(weight, 0.1)
""") in (['model.to("cuda")'], ["average = [each.detach().clone() for each in model.parameters()]"])


def test_a_module_moves_before_a_function_that_reads_its_parameters(fixed: Fixed):
    assert fixed("""
import copy
import torch

def optimizer_of(module, state):
    made = torch.optim.Adam(module.parameters())
    made.load_state_dict(state)
    return made

def steps(module, optimizer):
    for _ in range(2):
        module(torch.ones(2, 3, device="cuda")).sum().backward()
        optimizer.step()

first = torch.nn.Linear(3, 1).to("cuda")
before = torch.optim.Adam(first.parameters())
steps(first, before)
model = torch.nn.Linear(3, 1)
after = optimizer_of(model, copy.deepcopy(before.state_dict()))
model.to("cuda")
steps(model, after)
""") == ['model.to("cuda")']


def test_the_state_of_an_optimizer_is_loaded_behind_the_move(fixed: Fixed):
    assert fixed("""
import io

import torch

class Run:
    def __init__(self):
        torch.manual_seed(0)
        self.model = torch.nn.Linear(3, 2)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=0.1)

    def step(self):
        self.opt.zero_grad()
        self.model(torch.ones(2, 3, device="cuda")).square().sum().backward()
        self.opt.step()

def resume(state):
    run = Run()
    run.model.load_state_dict(state["model"])
    run.opt.load_state_dict(state["opt"])
    run.model.to("cuda")
    return run

first = Run()
first.model.to("cuda")
first.step()
kept = io.BytesIO()
torch.save({"model": first.model.state_dict(), "opt": first.opt.state_dict()}, kept)
kept.seek(0)
resume(torch.load(kept, map_location="cpu")).step()
""") == ['run.model.to("cuda")']


def test_a_statement_stays_behind_what_it_reads(searched: Callable[..., Search]):
    found = searched("""
import torch

counts = torch.tensor([3.0, 1.0])
model = torch.nn.Linear(2, 2)
model = model.to("cuda")
(model.weight * counts).sum().backward()
""")
    tried = [change.kind for trial in found.trials for change in trial.changes]
    assert found.verified and "statement_order" not in tried


def test_a_transform_of_functions_computes_the_same_after_the_move(fixed: Fixed):
    assert fixed("""
import torch
from torch.func import functional_call, grad

def copies(module):
    return {name: weight.detach().clone().requires_grad_() for name, weight in module.named_parameters()}

def loss(weights, x):
    return functional_call(net, weights, (x,)).square().mean()

net = torch.nn.Linear(2, 1)
weights = copies(net)
net.to("cuda")
x = torch.ones(3, 2, device="cuda")
slopes = grad(loss)(weights, x)
later = {name: weight - 0.1 * slopes[name] for name, weight in weights.items()}
loss(later, x).backward()
print(loss(later, x).item())
""") == ['net.to("cuda")']


def test_state_is_loaded_after_a_method_of_the_model_has_placed_its_parts(fixed: Fixed):
    assert fixed(
        """
import os, tempfile
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front, self.back = nn.Linear(4, 4), nn.Linear(4, 1)
        self.devices = [torch.device("cpu")] * 2

    def parallelize(self, front, back):
        self.devices = [torch.device(front), torch.device(back)]
        self.front.to(self.devices[0])
        self.back.to(self.devices[1])

    def forward(self, x):
        return self.back(self.front(x.to(self.devices[0])).to(self.devices[1]))

def steps(model, optimizer):
    for step in range(2):
        x = torch.full((2, 4), float(step))
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

def resume(model, optimizer, path):
    kept = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])

def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        first = Net()
        trained = torch.optim.Adam(first.parameters())
        steps(first, trained)
        torch.save({"model": first.state_dict(), "optimizer": trained.state_dict()}, path)
        model = Net()
        optimizer = torch.optim.Adam(model.parameters())
        resume(model, optimizer, path)
        model.parallelize("cuda:0", "cuda:1")
        steps(model, optimizer)

main()
""",
        gpus=2,
    ) == ['model.parallelize("cuda:0", "cuda:1")']


def test_the_model_moves_before_a_condition_under_which_its_optimizer_is_loaded(fixed: Fixed):
    assert fixed("""
import io
import torch

def steps(run, x):
    for _ in range(2):
        run.optimizer.zero_grad()
        run.model(x).sum().backward()
        run.optimizer.step()

class Run:
    def __init__(self, saved=None):
        self.model = torch.nn.Linear(3, 1)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        if saved is not None:
            self.load(saved)
        self.spread()

    def load(self, saved):
        self.optimizer.load_state_dict(torch.load(saved, map_location="cpu"))

    def spread(self):
        self.model.to("cuda")

first = Run()
steps(first, torch.ones(2, 3, device="cuda"))
saved = io.BytesIO()
torch.save(first.optimizer.state_dict(), saved)
saved.seek(0)
steps(Run(saved), torch.ones(2, 3, device="cuda"))
""") == ["self.spread()"]


def test_what_is_made_from_a_model_goes_behind_its_preparation(fixed: Fixed):
    pytest.importorskip("accelerate")
    assert fixed("""
import copy
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = torch.nn.Linear(3, 1)
average = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(2):
    accelerator.backward(model(torch.ones(2, 3, device=accelerator.device)).sum())
    optimizer.step()
    with torch.no_grad():
        for mean, weight in zip(average.parameters(), model.parameters()):
            mean.lerp_(weight, 0.1)
""") == ["average = copy.deepcopy(model)"]


def test_a_model_moves_before_an_optimizer_that_copies_its_weights(fixed: Fixed):
    assert fixed("""
import torch
from lightning.fabric import Fabric

class Averaged(torch.optim.SGD):
    def __init__(self, model):
        super().__init__(model.parameters(), lr=0.1)
        self.kept = [[p.detach().clone() for p in group["params"]] for group in self.param_groups]

    @torch.no_grad()
    def average(self):
        for group, kept in zip(self.param_groups, self.kept):
            for p, slow in zip(group["params"], kept):
                slow.lerp_(p, 0.5)
                p.copy_(slow)

fabric = Fabric(accelerator="cuda", devices=1)
fabric.launch()
torch.manual_seed(0)
model = torch.nn.Linear(3, 2)
optimizer = Averaged(model)
average = optimizer.average
model, optimizer = fabric.setup(model, optimizer)
for _ in range(2):
    model(torch.ones(4, 3, device=fabric.device)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    average()
""") == ["model.to(fabric.device)"]
