"""State that the program itself gives an optimizer goes to the device of its parameter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]

PROGRAM = """
import torch
from torch import nn

def member(gpu):
    model = nn.Linear(4, 2).to(gpu)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

def learn(model, optimizer):
    optimizer.zero_grad()
    loss = model(torch.ones(3, 4, device=model.weight.device)).sum()
    loss.backward()
    optimizer.step()
    return loss.item()

def inherit(best, worst):
    for ours, theirs in zip(worst.param_groups[0]["params"], best.param_groups[0]["params"]):
        {written}

torch.manual_seed(0)
members = [member("cuda:0"), member("cuda:1")]
for each in members:
    learn(*each)
inherit(members[1][1], members[0][1])
learn(*members[0])
print(learn(*members[0]))
"""


@pytest.mark.parametrize(
    ("written", "moved"),
    [
        ("worst.state[ours] = {k: v.clone() for k, v in best.state[theirs].items()}",
         "worst.state[ours] = {k: v.clone().to(ours.device) for k, v in best.state[theirs].items()}"),
        ('worst.state[ours]["momentum_buffer"] = best.state[theirs]["momentum_buffer"].clone()',
         'worst.state[ours]["momentum_buffer"] = best.state[theirs]["momentum_buffer"].clone().to(ours.device)'),
    ],
)  # fmt: skip
def test_what_is_written_goes_to_the_parameter(fixed: Fixed, written: str, moved: str):
    assert fixed(PROGRAM.replace("{written}", written), gpus=2) == [moved]
