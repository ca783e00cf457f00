"""A value that several statements use goes to its partner's device once."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from devsan.fix.candidates.first_use import _variable

Fixed = Callable[..., list[str]]


def test_what_was_computed_from_it_goes_along(fixed: Fixed):
    assert fixed(
        """
import torch

head = torch.nn.Linear(4, 8).to("cuda:1")

def loss_of(hidden, labels):
    logits = head(hidden.to("cuda:1"))
    mask = (labels != -100).float()
    logp = torch.log_softmax(logits, -1)
    nll = -logp.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return (nll * mask).sum() / mask.sum()

torch.manual_seed(0)
loss = loss_of(torch.randn(3, 4, device="cuda:0"), torch.randint(0, 8, (3,), device="cuda:0"))
loss.backward()
print(loss.item())
""",
        gpus=2,
    ) == ["labels = labels.to(logits.device)"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("logits", "logits"), ("logits[:, :-1].float()", "logits"), ("torch.log_softmax(logits, -1)", "logits"),
        ("logits.gather(-1, labels)", "logits"), ("model.head(hidden)", "hidden"), ("out.logits", ""), ("1 + x", ""),
    ],
)  # fmt: skip
def test_the_variable_that_a_value_is_of(text: str, name: str):
    assert _variable(ast.parse(text, mode="eval").body) == name
