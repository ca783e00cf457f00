"""What an optimizer keeps follows the weights."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]


def test_the_state_of_an_optimizer_that_has_stepped_follows_the_weights(fixed: Fixed):
    assert fixed("""
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters())

def step(x):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()

step(torch.randn(2, 3))
model.cuda()
step(torch.randn(2, 3).cuda())
""") == ["optimizer.load_state_dict(optimizer.state_dict())"]


def test_so_does_that_of_one_which_the_first_of_several_calls_has_made(fixed: Fixed):
    assert fixed(
        """
import torch

class Engine:
    def __init__(self):
        torch.manual_seed(0)
        self.model, self.opt = torch.nn.Linear(3, 1), None

    def enter(self, device):
        self.device = torch.device(device)
        self.model.to(self.device)
        if self.opt is None:
            self.opt = torch.optim.Adam(self.model.parameters())

    def step(self, x):
        self.opt.zero_grad()
        self.model(x.to(self.device)).sum().backward()
        self.opt.step()

engine = Engine()
for device in ("cuda:0", "cuda:1"):
    engine.enter(device)
    engine.step(torch.ones(2, 3))
""",
        gpus=2,
    ) == ["self.opt.load_state_dict(self.opt.state_dict())"]


def test_the_state_of_an_optimizer_follows_a_part_that_a_method_moves(fixed: Fixed):
    assert fixed(
        """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)

    def place(self, first, second):
        self.encoder.to(first)
        self.decoder.to(second)

    def forward(self, x):
        return self.decoder(self.encoder(x.to(self.encoder.weight.device)).to(self.decoder.weight.device))

def steps(net, optimizer):
    for _ in range(2):
        loss = net(torch.randn(2, 4)).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def main():
    torch.manual_seed(0)
    net = Net()
    net.place("cuda:0", "cuda:0")
    optimizer = torch.optim.Adam(net.parameters())
    steps(net, optimizer)
    net.place("cuda:0", "cuda:1")
    steps(net, optimizer)

main()
""",
        gpus=2,
    ) == ["optimizer.load_state_dict(optimizer.state_dict())"]


@pytest.mark.parametrize("moves", [["self.model.to(device)"],
                                   ["self.model[0].to(device)", "self.model[1].to(device)"]])  # fmt: skip
def test_the_state_of_an_optimizer_follows_what_a_method_moves(fixed: Fixed, moves: list[str]):
    body = "\n        ".join(moves)
    assert fixed(
        f"""
import torch

class Run:
    def __init__(self):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)).to("cuda:0")
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=0.1)

    def move(self, device):
        {body}
        return self

    def step(self, x):
        self.model(x).sum().backward()
        self.opt.step()

run = Run()
run.step(torch.ones(2, 3, device="cuda:0"))
run.move("cuda:1")
run.step(torch.ones(2, 3, device="cuda:1"))
""",
        gpus=2,
    ) == ["self.opt.load_state_dict(self.opt.state_dict())"]


def test_the_state_follows_where_a_function_moves_the_model_that_it_is_given(fixed: Fixed):
    assert fixed("""
import torch

class Momentum(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                m.mul_(0.9).add_(p.grad)
                p.sub_(m, alpha=0.1)

def build(state):
    model = torch.nn.Linear(3, 1)
    optimizer = Momentum(model.parameters())
    if state is not None:
        optimizer.load_state_dict(state)
    return model, optimizer

def fit(model, optimizer, device):
    model.to(device)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(2, 3, device=device)).sum().backward()
        optimizer.step()
    return optimizer.state_dict()

torch.manual_seed(0)
state = fit(*build(None), "cuda")
fit(*build(state), "cuda")
""") == ["optimizer.load_state_dict(optimizer.state_dict())"]


def test_the_state_follows_where_an_object_keeps_an_optimizer_that_it_is_given(fixed: Fixed):
    assert fixed("""
import io

import torch
from torch import nn


class Learner:
    def __init__(self, policy, optimizer):
        self.policy = policy.to("cuda")
        self.optimizer = optimizer

    def update(self):
        self.policy(torch.ones(2, 4, device="cuda")).sum().backward()
        self.optimizer.step()


def agent():
    policy = nn.Linear(4, 2)
    return policy, torch.optim.Adam(policy.parameters())


def loaded(saved):
    policy, optimizer = agent()
    optimizer.load_state_dict(torch.load(saved))
    return policy, optimizer


torch.manual_seed(0)
policy, optimizer = agent()
policy(torch.ones(2, 4)).sum().backward()
optimizer.step()
saved = io.BytesIO()
torch.save(optimizer.state_dict(), saved)
saved.seek(0)
Learner(*loaded(saved)).update()
""") == ["self.optimizer.load_state_dict(self.optimizer.state_dict())"]  # fmt: skip
