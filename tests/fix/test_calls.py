"""Programs that keep nothing are told apart by the calls that they make."""

from __future__ import annotations

import pytest
from seeded import change, laboratory

from devsan.fix.reference_run import find_reference
from devsan.fix.trial import try_changes

pytestmark = pytest.mark.drawn(3)  # a search each

AVERAGE = """\
import copy

import torch


@torch.no_grad()
def update(target, source):
    for slow, fast in zip(target.parameters(), source.parameters(), strict=True):
        slow.lerp_(fast, 0.01)


online = torch.nn.Linear(4, 4)
target = copy.deepcopy(online)
online.to("cuda:0")
update(target, online)
"""

CACHE = """\
import torch


class Cache:
    def __init__(self):
        self.kept = torch.zeros(4, 6, device="cuda:0")

    def put(self, slots, rows):
        rows = rows * 2
        self.kept.index_copy_(0, slots, rows)


Cache().put(torch.tensor([0, 2], device="cuda:0"), torch.randn(2, 6))
"""

GRAPH = """\
import torch

first, second = torch.nn.Linear(4, 4).to("cuda:0"), torch.nn.Linear(4, 4).to("cuda:1")


def forward(x):
    hidden = torch.relu(torch.nn.functional.linear(x, first.weight))
    return torch.nn.functional.linear(hidden, second.weight)


print(forward(torch.ones(2, 4, device="cuda:0")).shape)
"""

USED = "linear(hidden, second.weight)"

MOVE = 'import torch\n\nrank = 3\ntorch.ones(2).to(f"cuda:{rank}")\n'

CASES = {
    "a GPU that is there": (MOVE, "verified", ("{rank}", "{rank % 2}")),
    "no move": (MOVE, "rejected", ('.to(f"cuda:{rank}")', "")),
    "an average that moves with its source": (
        AVERAGE, "verified", ('online.to("cuda:0")', 'online.to("cuda:0")\ntarget.to("cuda:0")'),
    ),
    "an average where it is": (AVERAGE, "verified", ("lerp_(fast", "lerp_(fast.to(slow.device)")),
    "a copy of the average": (AVERAGE, "rejected", ("slow.lerp_(fast", "slow.to(fast.device).lerp_(fast")),
    "a named copy of the average": (
        AVERAGE, "rejected", ("slow.lerp_(fast", "slow = slow.to(fast.device)\n        slow.lerp_(fast"),
    ),
    "no average": (AVERAGE, "rejected", ("        slow.lerp_(fast, 0.01)", "        pass")),
    "a cache that takes rows": (CACHE, "verified", ("slots, rows)\n\n", "slots, rows.cuda())\n\n")),
    "rows that are made elsewhere": (CACHE, "verified", ("torch.randn(2, 6)", "torch.randn(2, 6).cuda()")),
    "a copy of the cache": (
        CACHE, "rejected", ("self.kept.index_copy_(0, slots", "self.kept.cpu().index_copy_(0, slots.cpu()"),
    ),
    "a try": (
        CACHE, "rejected",
        ("self.kept.index_copy_(0, slots, rows)",
         "try:\n            self.kept.index_copy_(0, slots, rows)\n        except RuntimeError:\n            pass"),
    ),
    "a stage that is given its input": (GRAPH, "verified", (USED, "linear(hidden.to('cuda:1'), second.weight)")),
    "detach": (GRAPH, "rejected", (USED, "linear(hidden.detach().to('cuda:1'), second.weight)")),
    "no_grad": (
        GRAPH, "rejected",
        ("def forward", "@torch.no_grad()\ndef forward"), (USED, "linear(hidden.to('cuda:1'), second.weight)"),
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_a_program_that_keeps_nothing(tmp_path, name):
    text, status, *pairs = CASES[name]
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    with laboratory(tmp_path, "train.py") as found:
        reference = find_reference(found, lambda *_: None)
        trial = try_changes(found, reference, (change(path, *pairs),))
    assert trial.outcome is not None and trial.outcome.ended, trial.outcome
    assert trial.status == status, trial.comparison
    assert trial.comparison is not None
    assert bool(trial.comparison.compared.get("call")) == (status == "verified")
