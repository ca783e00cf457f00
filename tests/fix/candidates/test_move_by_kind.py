"""Helpers that move what is in containers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]

SEND = """
import torch

def send(what, device):
    if torch.is_tensor(what):
        return what.to(device)
    if isinstance(what, dict):
        return {key: send(each, device) for key, each in what.items()}
    if isinstance(what, KNOWN):
        return [send(each, device) for each in what]
    return what

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(4, 4)

    def forward(self, x, rotation):
        cos, sin = rotation
        h = self.mix(x)
        return h * cos + h * sin

torch.manual_seed(0)
angles = torch.arange(4.0, device="cuda:0")
more = {"rotation": (angles.cos(), angles.sin()), "scale": [angles]}
x = torch.ones(2, 4, device="cuda:0")
for device in ("cuda:0", "cuda:1"):
    block = Block().to(device)
    x = send(x, device)
    more = send(more, device)
    x = block(x, more["rotation"])
print(x.sum().item())
"""


def test_a_helper_that_knows_lists_learns_tuples(fixed: Fixed):
    assert fixed(SEND.replace("KNOWN", "list"), gpus=2) == ["if isinstance(what, (list, tuple)):"]


def test_one_that_knows_both_stays(fixed: Fixed):
    assert fixed(SEND.replace("KNOWN", "(list, tuple)").replace("self.mix(x)", "self.mix(x) + angles"), gpus=2) != [
        "if isinstance(what, (list, tuple)):"
    ]


HELPERS = {
    "loop": ("""
def send(batch):
    out = {}
    for key, value in batch.items():
        if isinstance(value, torch.Tensor):
            out[key] = value.to(device)
        elif isinstance(value, dict):
            out[key] = send(value)
        else:
            out[key] = value
    return out
""", "out[key] = type(value)(each.to(device) if isinstance(each, torch.Tensor) else each for each in value) "
         "if isinstance(value, (list, tuple)) else value"),
    "comprehension": ("""
def send(batch):
    return {key: value.to(device) if torch.is_tensor(value) else value for key, value in batch.items()}
""", "return {key: value.to(device) if torch.is_tensor(value) else type(value)(each.to(device) "
         "if torch.is_tensor(each) else each for each in value) if isinstance(value, (list, tuple)) else value "
         "for key, value in batch.items()}"),
    "value": ("""
def send(batch, where=device):
    if isinstance(batch, torch.Tensor):
        return batch.to(where)
    if isinstance(batch, dict):
        return {key: send(value, where) for key, value in batch.items()}
    return batch
""", "return type(batch)(send(each, where) for each in batch) if isinstance(batch, (list, tuple)) else batch"),
}  # fmt: skip
NESTED = """
import torch

device = torch.device("cuda:0")
torch.manual_seed(0)
net = torch.nn.Linear(4, 2).to(device)
HELPER
for step in range(2):
    batch = send({"x": torch.randn(3, 4), "targets": [torch.randn(3, 2), torch.rand(3, 1)]})
    out = net(batch["x"])
    one, other = batch["targets"]
    loss = ((out - one) * other).pow(2).mean()
    loss.backward()
    print(loss.item())
"""


@pytest.mark.parametrize("name", HELPERS)
def test_a_helper_that_hands_lists_on_moves_what_is_in_them(fixed: Fixed, name: str):
    helper, line = HELPERS[name]
    assert fixed(NESTED.replace("HELPER", helper)) == [line]


def test_a_helper_that_hands_dictionaries_on(fixed: Fixed):
    program = NESTED.replace("HELPER", HELPERS["comprehension"][0])
    listed, named = "[torch.randn(3, 2), torch.rand(3, 1)]", '{"a": torch.randn(3, 2), "b": torch.rand(3, 1)}'
    program = program.replace(listed, named)
    assert fixed(program.replace('batch["targets"]', 'batch["targets"].values()')) == [
        "return {key: value.to(device) if torch.is_tensor(value) else {key: each.to(device) if torch.is_tensor(each) "
        "else each for key, each in value.items()} if isinstance(value, dict) else value "
        "for key, value in batch.items()}"
    ]
