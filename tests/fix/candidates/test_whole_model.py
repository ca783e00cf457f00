"""A model that nothing has moved goes to the GPU where it is created."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_a_loss_with_weights_goes_to_the_student(fixed: Fixed):
    assert fixed(
        """
import torch
from torch import nn

cfg = {"student_device": "cuda:1"}

class Loss(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.hard = nn.CrossEntropyLoss(weight=weight)

    def forward(self, logits, target):
        return self.hard(logits, target)

def build_loss(labels):
    counts = torch.bincount(labels, minlength=3).float() + 1
    return Loss(counts.sum() / counts)

def train(student, criterion, x, y):
    for _ in range(2):
        loss = criterion(student(x.to(cfg["student_device"])), y.to(cfg["student_device"]))
        loss.backward()

def main():
    torch.manual_seed(0)
    x, y = torch.randn(8, 4), torch.randint(3, (8,))
    student = nn.Linear(4, 3).to(cfg["student_device"])
    criterion = build_loss(y)
    train(student, criterion, x, y)

main()
""",
        gpus=2,
    ) == ['criterion = build_loss(y).to(cfg["student_device"])']
