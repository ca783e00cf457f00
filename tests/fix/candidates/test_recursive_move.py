"""Helpers that move what is in containers."""

from __future__ import annotations

from collections.abc import Callable

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
