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
