"""An element of a tuple, a list or a dictionary moves where it is put in."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from devsan.fix.candidates.element import _beside, _element
from devsan.fix.source import Source

Fixed = Callable[..., list[str]]


def test_the_cell_state_moves_with_the_hidden_state(fixed: Fixed):
    assert fixed(
        """
import torch

FIRST, SECOND = "cuda:0", "cuda:1"

class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.LSTM(3, 4)

    def forward(self, x, state):
        return self.rnn(x, state)[0]

def main():
    encoder = torch.nn.LSTM(3, 4).to(FIRST)
    decoder = Decoder().to(SECOND)
    x = torch.randn(5, 2, 3)
    for _ in range(2):
        _, (h, c) = encoder(x.to(FIRST))
        state = (h.to(SECOND), c)
        decoder(x.to(SECOND), state).sum().backward()

main()
""",
        gpus=2,
    ) == ["state = (h.to(SECOND), c.to(SECOND))"]


DISPLAYS = {
    "a tuple": ("(h.to(device), c)", "state[1]", "c"),
    "a list from its end": ("[h.to(device), c]", "state[-1]", "c"),
    "a dictionary": ('{"x": x.to(device), "weight": weight}', 'batch["weight"]', "weight"),
    "no such entry": ('{"x": x.to(device)}', 'batch["weight"]', None),
    "past the end": ("(h.to(device), c)", "state[2]", None),
    "an element of an element": ('{"x": (x, y.to(device))}', 'batch["x"][0]', None),
}


@pytest.mark.parametrize("case", DISPLAYS)
def test_the_element_that_a_name_says(case: str):
    text, name, expected = DISPLAYS[case]
    source = Source("train.py", text, ast.parse(text))
    display = source.tree.body[0].value  # type: ignore[attr-defined]
    found = _element(display, {"name": name})
    assert (None if found is None else source.segment(found)) == expected


def test_where_the_other_elements_go():
    text = '{"x": x.to(device), "y": y.cuda(), "n": 3}'
    source = Source("train.py", text, ast.parse(text))
    assert _beside(source, source.tree.body[0].value) == ["device"]  # type: ignore[attr-defined]
