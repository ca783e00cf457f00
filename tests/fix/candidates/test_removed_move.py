"""A move that takes a part of a model away is left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devsan.fix.search import Search

Fixed = Callable[..., list[str]]


def test_parts_of_a_dispatched_model_stay_where_they_are(fixed: Fixed):
    pytest.importorskip("accelerate")
    assert fixed(
        """
import torch
from accelerate import dispatch_model

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)))
model = dispatch_model(model, {"0": 0, "1.0": 0, "1.1": 1})
model[1].cuda()
print(model(torch.randn(2, 4)).sum())
""",
        gpus=2,
    ) in ([], ["pass"])


def test_moves_beside_one_another_go_together(fixed: Fixed):
    assert fixed(
        """
import torch

class Forecaster(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnns = torch.nn.ModuleList(torch.nn.LSTM(3, 3).to(f"cuda:{gpu}") for gpu in range(2))
        self.states = [None, None]

    def snapshot(self):
        for i, (h, c) in enumerate(self.states):
            self.states[i] = (h.cpu(), c.cpu())
        return list(self.states)

    def forward(self, x):
        for i, rnn in enumerate(self.rnns):
            x, self.states[i] = rnn(x.to(f"cuda:{i}"), self.states[i])
        return x

torch.manual_seed(0)
model = Forecaster()
with torch.no_grad():
    model(torch.randn(2, 1, 3))
    kept = model.snapshot()
    print(model(torch.randn(2, 1, 3)).sum().item())
""",
        gpus=2,
    ) == ["self.states[i] = (h, c)"]


def test_an_average_keeps_the_split_of_its_model(fixed: Fixed):
    assert fixed(
        """
import torch
from torch.optim.swa_utils import AveragedModel

class Halves(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = torch.nn.Linear(4, 4).to("cuda:0"), torch.nn.Linear(4, 2).to("cuda:1")

    def forward(self, x):
        return self.other(self.one(x.to("cuda:0")).to("cuda:1"))

torch.manual_seed(0)
model = Halves()
average = AveragedModel(model, device="cuda:0")
average.update_parameters(model)
print(average(torch.randn(2, 4)).sum())
""",
        gpus=2,
    ) == ["average = AveragedModel(model)"]


def test_a_shared_weight_stays_with_its_first_part(fixed: Fixed):
    changed = fixed(
        """
import torch
from torch import nn

class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.body, self.head = nn.Embedding(11, 8), nn.Linear(8, 8), nn.Linear(8, 11, bias=False)
        self.head.weight = self.embed.weight
        self.embed.to("cuda:0")
        self.body.to("cuda:1")
        self.head.to("cuda:1")

    def forward(self, ids):
        return self.head(self.body(self.embed(ids).to("cuda:1")))

torch.manual_seed(0)
model = Speller()
print(model(torch.randint(0, 11, (2, 5), device="cuda:0")).sum())
""",
        gpus=2,
    )
    assert changed and not any("self.head.to" in line for line in changed)


def test_what_was_where_it_belongs_is_not_taken_away(searched: Callable[..., Search]):
    pytest.importorskip("transformers")
    found = searched(
        """
import torch
from transformers import DynamicCache

seen = [torch.ones(1, 1, 2, 3, device=f"cuda:{gpu}") for gpu in range(2)]
cache = DynamicCache()
for number, (keys, values) in enumerate(zip(seen, seen)):
    cache.update(keys.to("cuda:0"), values.to("cuda:0"), number)
for number, keys in enumerate(seen):
    cache.update(keys, keys, number)
print(sum(layer.keys.sum().item() for layer in cache.layers))
""",
        gpus=2,
    )
    (change,) = found.verified[0].changes
    assert change.text == 'leave out `keys.to("cuda:0")`, `values.to("cuda:0")`'
    assert found.patch is None  # transformers is not at fault
