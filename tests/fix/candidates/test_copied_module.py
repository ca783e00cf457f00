"""A module that a function moves in place is copied there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]


def test_an_evaluation_on_another_gpu_takes_a_copy(fixed: Fixed):
    assert fixed("""
import torch

class Judge:
    def __init__(self, device):
        self.device = device
        self.held_out = torch.ones(4, 3, device=device)

    @torch.no_grad()
    def score(self, model):
        judged = model.to(self.device).eval()
        return judged(self.held_out).mean().item()

def batch():
    return torch.ones(2, 3).to("cuda:0"), torch.zeros(2, 1).to("cuda:0")

def fit(model, judge, steps=2):
    model = model.to("cuda:0")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        model.train()
        optimizer.zero_grad()
        inputs, targets = batch()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        judge.score(model)

torch.manual_seed(0)
fit(torch.nn.Linear(3, 1), Judge("cuda:1"))
""", gpus=2) == ["import copy", "judged = copy.deepcopy(model).to(self.device).eval()"]  # fmt: skip


@pytest.mark.long
def test_an_encoder_that_shares_its_table_gets_one_of_its_own(fixed: Fixed):
    assert fixed("""
import torch
from torch import nn

class Half(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table, self.layer = table, nn.Linear(3, 3)

    def forward(self, ids):
        return self.layer(self.table(ids))

class Apart:
    def __init__(self, encoder, decoder, head):
        self.encoder = encoder.to("cuda:0")
        self.decoder = decoder.to("cuda:1")
        self.head = head.to("cuda:1")

    @torch.no_grad()
    def run(self, ids):
        memory = self.encoder(ids.to("cuda:0")).to("cuda:1")
        return self.head(self.decoder(ids.to("cuda:1")) + memory)

torch.manual_seed(0)
table = nn.Embedding(5, 3)
head = nn.Linear(3, 5, bias=False)
head.weight = table.weight
print(Apart(Half(table), Half(table), head).run(torch.arange(4)).sum().item())
""", gpus=2) == ["import copy", 'self.encoder = copy.deepcopy(encoder).to("cuda:0")']  # fmt: skip


def test_a_measurement_that_moves_what_it_was_given_takes_a_copy(fixed: Fixed):
    assert fixed("""
import torch

@torch.no_grad()
def measure(model, device):
    sample = torch.ones(1, 3, device=device)
    model.eval().to(device)
    return model(sample).sum().item()

def batch():
    return torch.ones(2, 3).to("cuda:0"), torch.zeros(2, 1).to("cuda:0")

def main():
    model = torch.nn.Linear(3, 1).to("cuda:0")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model.train()
        optimizer.zero_grad()
        inputs, targets = batch()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        print(measure(model, "cuda:1"))

torch.manual_seed(0)
main()
""", gpus=2) == ["import copy", "model = copy.deepcopy(model)"]  # fmt: skip
