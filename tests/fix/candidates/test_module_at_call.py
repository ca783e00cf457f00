"""A module that no model registers comes to its input where it is called."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_a_teacher_in_a_tuple_is_moved_where_it_is_called(fixed: Fixed):
    assert fixed("""
import torch
from torch import nn

class Guide(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.body(x).relu())

class Student(nn.Module):
    def __init__(self, guide):
        super().__init__()
        self.kept = (guide.requires_grad_(False),)
        self.layer = nn.Linear(4, 2)

    @property
    def guide(self):
        return self.kept[0]

    def forward(self, x):
        return (self.layer(x) - self.guide(x)).square().mean()

model = Student(Guide()).to("cuda")
model(torch.ones(3, 4, device="cuda")).backward()
""") == ["return (self.layer(x) - self.guide.to(x.device)(x)).square().mean()"]


def test_a_metric_whose_method_is_called(fixed: Fixed):
    assert fixed("""
import torch
from torch import nn

class Mean(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(()).repeat(2))

    def update(self, x):
        self.total = self.total + x.detach().mean(0)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.kept = {"train": Mean(), "test": Mean()}

    def forward(self, x, stage):
        y = self.layer(x)
        self.kept[stage].update(y)
        return y.square().mean()

model = Model().to("cuda")
for _ in range(2):
    model(torch.ones(3, 4, device="cuda"), "train").backward()
print(model.kept["train"].total.sum().item())
""") == ["self.kept[stage].to(y.device).update(y)"]
