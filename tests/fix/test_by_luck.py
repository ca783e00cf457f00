"""What streams do by luck is fixed as other failures are: the finding is gone, and the numbers are the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from seeded import laboratory, quiet, script

from devsan.fix.search import Search, search

pytestmark = pytest.mark.drawn(3)  # a search each

TWO_RACES = """\
import torch
from torch import nn

torch.manual_seed(0)
side = torch.cuda.Stream()
model = nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
side.wait_stream(torch.cuda.current_stream())
for step in range(2):
    x = torch.ones(3, 4, device="cuda")
    with torch.cuda.stream(side):
        scaled = (
            x * 2
        )
    loss = model(scaled).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""

FREED = """\
import torch

side = torch.cuda.Stream()
with torch.cuda.stream(side):
    x = torch.ones(4, device="cuda")
torch.cuda.current_stream().wait_stream(side)
y = x * 2
del x
with torch.cuda.stream(side):
    z = torch.zeros(4, device="cuda")
torch.cuda.synchronize()
print(y.sum().item(), z.sum().item())
"""


def searched(folder: Path, text: str) -> Search:
    script(folder, text)
    with laboratory(folder, "train.py") as found:
        found.job = replace(found.job, options=replace(found.job.options, check=("streams",)))
        return search(found, quiet)


def written(found: Search) -> list[str]:
    best = found.verified[0]
    return [edit.after.strip() for change in best.changes for edit in change.edits]


def test_two_races_take_two_lines_before_the_statements(tmp_path):
    found = searched(tmp_path, TWO_RACES)
    first, second = written(found)
    assert first.startswith("torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())\n        scaled = (")
    assert second.startswith("torch.cuda.current_stream().wait_stream(side)\n    loss = model(scaled)")
    assert found.verified[0].comparison is not None and found.verified[0].comparison.compared


def test_memory_that_is_freed_too_early_is_recorded(tmp_path):
    found = searched(tmp_path, FREED)
    assert written(found) == ["y = x * 2\nx.record_stream(torch.cuda.current_stream())"]


def test_a_change_that_leaves_the_race_is_no_fix(tmp_path, monkeypatch):
    from seeded import change

    from devsan.fix import exploration

    path = script(tmp_path, FREED)
    monkeypatch.setattr(
        exploration, "candidates", lambda failure: [change(path, ("y = x * 2", "y = x * 2  # on time"))]
    )
    found = searched(tmp_path, FREED)
    assert [trial.status for trial in found.trials] == ["same"]
    assert found.verified == []


@pytest.mark.long
def test_the_other_races_are_followed_where_no_change_is_known_for_the_first(tmp_path, monkeypatch):
    from devsan.fix import exploration

    own = exploration.candidates

    def candidates(failure):
        return [] if failure.finding["sites"][0]["line"] < 15 else own(replace(failure, others=()))

    monkeypatch.setattr(exploration, "candidates", candidates)
    found = searched(tmp_path, TWO_RACES)
    assert [trial.status for trial in found.trials] == ["other"], "the second race is gone, the first one stays"
    assert found.verified == []
