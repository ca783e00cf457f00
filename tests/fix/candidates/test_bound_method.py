"""A replica calls its own method, not that of the module that was copied."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]


@pytest.mark.long
def test_a_table_of_methods_leads_to_those_of_the_replica(fixed: Fixed):
    assert fixed(
        """
import torch

class Tasks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Linear(3, 3)
        self.head = torch.nn.Linear(3, 1)
        self.losses = {"mean": self.mean, "square": self.square}

    def mean(self, x):
        return self.head(x).mean()

    def square(self, x):
        return self.head(x).pow(2).mean()

    def forward(self, x):
        x = self.stem(x)
        return torch.stack([self.losses[name](x) for name in ("mean", "square")])

model = torch.nn.DataParallel(Tasks().to("cuda:0"))
model(torch.ones(4, 3, device="cuda:0")).sum().backward()
""",
        gpus=2,
    ) == ['return torch.stack([getattr(self, self.losses[name].__name__)(x) for name in ("mean", "square")])']


@pytest.mark.long
def test_a_method_that_was_chosen_by_its_name(fixed: Fixed):
    assert fixed(
        """
import torch

class Pooled(torch.nn.Module):
    def __init__(self, pooling):
        super().__init__()
        self.stem = torch.nn.Linear(3, 3)
        self.head = torch.nn.Linear(3, 1)
        self.pool = getattr(self, f"{pooling}_pool")

    def mean_pool(self, x):
        return self.head(x).mean()

    def forward(self, x):
        return self.pool(self.stem(x)).reshape(1)

model = torch.nn.DataParallel(Pooled("mean").to("cuda:0"))
model(torch.ones(4, 3, device="cuda:0")).sum().backward()
""",
        gpus=2,
    ) == ["return getattr(self, self.pool.__name__)(self.stem(x)).reshape(1)"]
