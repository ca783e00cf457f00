"""The table that says where parts go names another GPU, where two parts share a weight."""

from __future__ import annotations

from collections.abc import Callable

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
