"""What a module is given comes to its weights where it is called."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]

PROGRAM = """
import torch
from torch import nn

class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, hidden, memory, causal=None):
        scores = self.query(hidden) @ self.key(memory).transpose(-1, -2)
        return scores if causal is None else scores + causal

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(3, 4).to("cuda:0"), Decoder().to("cuda:1")

    def forward(self, x):
        memory = self.encoder(x).relu()
        return self.decoder(memory, memory{more})

model = Model()
model(torch.ones(2, 3, device="cuda:0")).sum().backward()
"""


def test_one_edit_at_the_call_where_uses_inside_take_two(fixed: Fixed):
    (line,) = fixed(PROGRAM.format(more=""), gpus=2)
    device = "next(self.decoder.parameters()).device"
    assert line == f"return self.decoder(memory.to({device}), memory.to({device}))"


def test_what_is_no_tensor_stays(fixed: Fixed):
    (line,) = fixed(PROGRAM.format(more=", causal=None"), gpus=2)
    assert line.endswith(", causal=None)") and line.count(".to(") == 2
