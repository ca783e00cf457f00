"""The table that says where parts go names another GPU, where two parts share a weight."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.fix.candidates.table_entry import propose
from devsan.fix.failure import Failure

Fixed = Callable[..., list[str]]

TIED = """
import torch
from torch import nn

PLACEMENT = {"embed": %s, "body": %s, "head": %s}

class Net(nn.Module):
    def __init__(self, placement):
        super().__init__()
        self.placement = placement
        self.embed, self.body = nn.Embedding(6, 4), nn.Linear(4, 4)
        self.head = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 6, bias=False))
        self.head[1].weight = self.embed.weight
        self.embed.to(placement["embed"])
        self.body.to(placement["body"])
        self.head.to(placement["head"])

    def forward(self, ids):
        x = self.embed(ids.to(self.placement["embed"]))
        x = self.body(x.to(self.placement["body"]))
        return self.head(x.to(self.placement["head"]))

torch.manual_seed(0)
loss = Net(PLACEMENT)(torch.tensor([[1, 2], [3, 4]])).square().mean()
loss.backward()
print(loss.item())
"""


def test_a_head_goes_where_the_embedding_is_that_has_its_weight(fixed: Fixed):
    (line,) = fixed(TIED % ('"cuda:0"', '"cuda:1"', '"cuda:1"'), 2)
    assert line == 'PLACEMENT = {"embed": "cuda:0", "body": "cuda:1", "head": "cuda:0"}'


def test_an_entry_is_written_as_the_table_writes_that_gpu(fixed: Fixed):
    (line,) = fixed(TIED % ("0", 'torch.device("cuda:1")', "1"), 2)
    assert line == 'PLACEMENT = {"embed": 0, "body": torch.device("cuda:1"), "head": 0}'


@pytest.mark.parametrize(
    ("table", "text", "partner", "after"),
    [
        ('PLACES = {"head": "cuda:1"}', 'places["head"]', "cuda:0", ['"cuda:0"']),
        (
            'PLACES: dict[str, object] = {"embed": 0, "head": torch.device("cuda", 1)}',
            'places["head"]',
            "cuda:0",
            ["0"],
        ),
        ('PLACES = {"head": "cuda:1"}', 'places["head"]', "cpu", []),
        ('PLACES = {"head": "cuda:1"}', 'places["body"]', "cuda:0", []),
        ('PLACES = {"head": Stage(1)}', 'places["head"]', "cuda:0", []),
        ('NAMES = {0: "cuda:1"}', 'places["head"][0]', "cuda:0", []),
        ('A = {"head": "cuda:1"}\nB = {"head": "cuda:1"}', 'places["head"]', "cuda:0", []),
    ],
)
def test_only_an_entry_that_says_this_device_is_changed(
    tmp_path: Path, table: str, text: str, partner: str, after: list[str]
):
    path = tmp_path / "train.py"
    path.write_text(f"{table}\n", encoding="utf-8")
    event = {"kind": "moved", "device": "cuda:1", "device_text": text, "frames": [{"path": str(path), "line": 1}]}
    common = {"name": "", "line": 1, "tied_to": "", "shape": [2]}
    weight = {**common, "kind": "parameter", "device": "cuda:1", "offending": True, "provenance": [event]}
    other = {**common, "kind": "local", "device": partner, "offending": False, "provenance": []}
    failure = Failure({"kind": "mixed", "operands": [weight, other], "stack": [], "code": ""})
    assert [change.edits[0].after for change in propose(failure)] == after
