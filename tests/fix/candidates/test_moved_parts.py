"""Parts of a model are moved, and not what was made on a GPU of its own."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]

RANKER = """
import torch
from torch import nn

class Tables(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(9, 4, device=f"cuda:{number}") for number in range(2))

    def forward(self, ids):
        found = [table(ids.to(f"cuda:{number}")) for number, table in enumerate(self.tables)]
        return torch.cat([each.to("cuda:0") for each in found], -1)

class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.bottom, self.tables, self.top = nn.Linear(3, 4), Tables(), nn.Linear(12, 1)

    def forward(self, dense, ids):
        return self.top(torch.cat([self.bottom(dense), self.tables(ids)], -1))

def prepare(model, device):
    model.to(device)
    return model.train()

torch.manual_seed(0)
model = prepare(Ranker(), "cuda:0")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.rand(2, 3, device="cuda:0"), torch.randint(9, (2,))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_tables_stay_where_they_were_made(fixed: Fixed):
    assert fixed(RANKER, gpus=2) == ["model.bottom.to(device)", "model.top.to(device)"]
