"""The search: rounds, limits, and what is called unverified."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from seeded import change, laboratory, quiet, script

from devsan.fix import exploration
from devsan.fix.change import Change
from devsan.fix.reference_run import find_reference
from devsan.fix.search import search
from devsan.fix.trial import try_changes

pytestmark = pytest.mark.drawn(3)  # a search each

TWO = """\
import torch

first = torch.ones(3, device="cuda:0")
second = torch.ones(3, device="cuda:1")
third = torch.ones(3)
both = first + second
print(both.sum().item())
all_three = both * third
print(all_three.sum().item())
"""


def offer(path: Path, *pairs: tuple[str, str]) -> object:
    """Candidates that are offered in each round."""

    def candidates(failure: object) -> list[Change]:
        return [change(path, pair) for pair in pairs]

    return candidates


def test_the_second_round_begins_where_the_first_ends(tmp_path, monkeypatch):
    path = script(tmp_path, TWO)
    pairs = [
        ('device="cuda:1"', 'device="cpu"'),
        ('device="cuda:1"', 'device="cuda:0"'),
        ("torch.ones(3)", "first.clone()"),
    ]
    monkeypatch.setattr(exploration, "candidates", offer(path, *pairs))
    told = []
    with laboratory(tmp_path, "train.py") as found:
        result = search(found, told.append)
    assert [trial.status for trial in result.trials[:3]] == ["same", "other", "same"] or result.verified
    best = result.verified[0]
    assert [edit.after for each in best.changes for edit in each.edits] == ['device="cuda:0"', "first.clone()"]
    assert told[:2] == ["reference", "failure"] and len(told) > 2


def test_rounds_and_trials_have_limits(tmp_path, monkeypatch):
    path = script(tmp_path, TWO)
    pairs = [("import torch", f"import torch  # {number}") for number in range(9)]
    monkeypatch.setattr(exploration, "candidates", offer(path, *pairs))
    monkeypatch.setattr(exploration, "MOST_TRIALS", 2)
    with laboratory(tmp_path, "train.py") as found:
        result = search(found, quiet)
    assert [trial.status for trial in result.trials] == ["same", "same"]
    assert result.verified == []


def test_runs_ahead_change_nothing(tmp_path, monkeypatch):
    path = script(tmp_path, TWO)
    devices = ("cpu", "meta", "cuda:0", "cuda:1")
    pairs = [('device="cuda:1"', f'device="{device}"') for device in devices] + [("torch.ones(3)", "first.clone()")]
    monkeypatch.setattr(exploration, "candidates", offer(path, *pairs))
    told = []
    for jobs in (1, 3):
        with laboratory(tmp_path, "train.py") as found:
            found.jobs = jobs
            told.append([(trial.status, trial.changes) for trial in search(found, quiet).trials])
    assert told[0] == told[1]
    assert told[0][-1][0] == "verified" and len(told[0]) > 4


UNVERIFIED = {
    "what is written is thrown away": (
        'import torch\n\n\ndef f(a, b):\n    a.clone().add_(b)\n\n\nkept = torch.ones(3, device="cuda:0")\n'
        'f(kept, torch.ones(3))\n',
        ("    a.clone().add_(b)", "    pass"), "what the failure prevents computes nothing that is compared",
    ),
    "other numbers in each run": (
        'import torch\n\ntorch.seed()\nkept = torch.rand(3, device="cuda:0")\n'
        "weight = torch.rand(3, requires_grad=True)\n"
        "(weight * kept).sum().backward()\n",
        ('device="cuda:0"', 'device="cpu"'), "other numbers in each run",
    ),
    "it does not end on one device either": (
        'import torch\n\nkept = torch.ones(3, device="cuda:0") + torch.ones(3)\nraise SystemExit(3)\n',
        ("raise SystemExit(3)", "raise SystemExit(0)"), "does not end on one device either",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNVERIFIED)
def test_what_proves_nothing_is_unverified(tmp_path, name):
    text, pair, why = UNVERIFIED[name]
    path = script(tmp_path, text)
    pairs = [pair] if "either" not in name else [pair, ("torch.ones(3)\n", "torch.ones(3).cuda()\n")]
    with laboratory(tmp_path, "train.py") as found:
        trial = try_changes(found, find_reference(found, quiet), (change(path, *pairs),))
    assert trial.outcome is not None and trial.outcome.ended, trial.outcome
    assert trial.status == "unverified", trial
    assert trial.comparison is not None and why in trial.comparison.impossible


def test_the_search_ends_with_what_ends_the_program_where_nothing_can_be_compared(tmp_path, monkeypatch):
    text, end, _ = UNVERIFIED["it does not end on one device either"]
    path = script(tmp_path, text)
    ways = [
        change(path, end, ("torch.ones(3)\n", f"{right}\n"))
        for right in ("torch.ones(3).cuda()", "torch.ones(3, device=0)", "torch.ones(1).cuda()")
    ]
    monkeypatch.setattr(exploration, "candidates", lambda failure: list(ways))
    with laboratory(tmp_path, "train.py") as found:
        result = search(found, quiet)
    assert [trial.status for trial in result.trials] == ["unverified"]
    assert result.untried == ways[1:]


def test_a_time_that_is_printed_may_vary(tmp_path):
    text = (
        "import time\nimport torch\n\nprint(torch.tensor(time.perf_counter_ns()).item())\n"
        'weight = torch.ones(3, device="cuda:0", requires_grad=True)\n(weight * torch.ones(3)).sum().backward()\n'
    )
    path = script(tmp_path, text)
    with laboratory(tmp_path, "train.py") as found:
        trial = try_changes(
            found, find_reference(found, quiet), (change(path, ("torch.ones(3))", 'torch.ones(3, device="cuda:0"))')),)
        )
    assert trial.status == "verified", trial
    assert trial.comparison is not None
    assert set(trial.comparison.compared) == {"loss", "gradients", "state"}


REFERENCES = {
    "numpy": ("meeting", 'import numpy as np\nprint(np.asarray(torch.ones(2, device="cuda")).sum())\n'),
    "a generator": (
        "meeting", 'g = torch.Generator("cuda").manual_seed(1)\nprint(torch.rand(2, generator=g).sum().item())\n',
    ),
    "a gradient": (
        "meeting", 'weight = torch.ones(2, device="cuda", requires_grad=True)\nweight.grad = torch.ones(2)\n',
    ),
    "a check in Python": (
        "one_gpu",
        'a, b = (torch.ones(2, device=f"cuda:{k}") for k in (0, 1))\nassert a.device == b.device\nprint(a + b)\n',
    ),
    "a GPU that is not there": ("one_gpu", 'print(torch.ones(2, device="cuda:7").sum().item())\n'),
    "a parallel module": (
        "meeting",
        'model = torch.nn.DataParallel(torch.nn.Linear(2, 2).to("cuda:1"), [0, 1])\n'
        'print(model(torch.ones(4, 2, device="cuda:0")).sum().item())\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCES)
def test_a_program_has_a_reference(tmp_path, name):
    kind, text = REFERENCES[name]
    script(tmp_path, f"import torch\n{text}")
    with laboratory(tmp_path, "train.py") as found:
        reference = find_reference(found, quiet)
        assert not reference.failing().ended
    assert reference.outcome is not None, reference.first.error
    assert reference.kind == kind


def test_a_generator_of_the_other_device_draws_the_same(tmp_path):
    text = (
        'import torch\ng = torch.Generator("cuda").manual_seed(1)\n'
        "for _ in range(3):\n    print(torch.rand(5, generator=g).sum().item())\n"
    )
    path = script(tmp_path, text)
    with laboratory(tmp_path, "train.py") as found:
        reference = find_reference(found, quiet)
        for pair in [('Generator("cuda")', "Generator()"), ("generator=g)", 'generator=g, device="cuda")')]:
            assert try_changes(found, reference, (change(path, pair),)).status == "verified"


ORDER = """\
import torch

def reorder(tokens, memory):
    order = torch.arange(3, device=tokens.device).flip(0)
    tokens = tokens.index_select(0, order)
    memory = memory.index_select(0, order)
    return tokens.sum() + memory.sum().to(tokens.device)

print(reorder(torch.ones(3, device="cuda:1"), torch.ones(3, device="cuda:0")).item())
"""


def test_what_a_change_breaks_before_the_failure_is_not_followed_at_once(tmp_path, monkeypatch):
    path = script(tmp_path, ORDER)
    pairs = [
        (".flip(0)", ".flip(0).to(memory.device)"),
        ("tokens.index_select(0, order)", "tokens.index_select(0, order.to(tokens.device))"),
        ("memory.index_select(0, order)", "memory.index_select(0, order.to(memory.device))"),
    ]
    monkeypatch.setattr(exploration, "candidates", offer(path, *pairs))
    with laboratory(tmp_path, "train.py") as found:
        result = search(found, quiet)
    assert [edit.after for each in result.verified[0].changes for edit in each.edits] == [pairs[2][1]]
    assert [len(trial.changes) for trial in result.trials] == [1, 1, 1]


TWO_LOSSES = """\
import torch
from torch.nn import functional as F

scores, classes = torch.ones(4, 9, device="cuda:1"), torch.ones(4, 3, device="cuda:1")
words = torch.tensor([0, 1, 2, 3], device="cuda:0")
kinds = torch.tensor([0, 1, 2, 0], device="cuda:0")
loss = F.cross_entropy(scores, words) + F.cross_entropy(classes, kinds)
print(loss.item())
"""


def test_the_next_expression_of_a_line_that_fails_inside_of_torch_is_followed_at_once(tmp_path, monkeypatch):
    """Both losses fail in one line of torch, which one device shows once."""
    path = script(tmp_path, TWO_LOSSES)
    pairs = [
        ('2, 3], device="cuda:0")', '2, 3], device="cuda:1")'),
        ('2, 3], device="cuda:0")', '2, 3], device="cpu")'),
        ('2, 0], device="cuda:0")', '2, 0], device="cuda:1")'),
    ]
    monkeypatch.setattr(exploration, "candidates", offer(path, *pairs))
    with laboratory(tmp_path, "train.py") as found:
        result = search(found, quiet)
    assert [edit.after for each in result.verified[0].changes for edit in each.edits] == [pairs[0][1], pairs[2][1]]
    assert [len(trial.changes) for trial in result.trials[:2]] == [1, 2]


STATES = """\
import torch

torch.manual_seed(0)
lstm = torch.nn.LSTM(3, 2).to("cuda:1")
h = torch.zeros(1, 4, 2, device="cuda:0")
print("the cell")
c = torch.zeros(1, 4, 2, device="cuda:0")
out, _ = lstm(torch.ones(5, 4, 3, device="cuda:1"), (h, c))
print(out.sum().item())
"""


def test_the_next_operand_of_an_operation_is_followed_at_once(tmp_path, monkeypatch):
    path = script(tmp_path, STATES)
    first, other, second = [
        replace(change(path, pair), doubt=20)
        for pair in (
            ('h = torch.zeros(1, 4, 2, device="cuda:0")', 'h = torch.zeros(1, 4, 2, device="cuda:1")'),
            ('h = torch.zeros(1, 4, 2, device="cuda:0")', 'h = torch.zeros(1, 4, 2, device="cpu")'),
            ('c = torch.zeros(1, 4, 2, device="cuda:0")', 'c = torch.zeros(1, 4, 2, device="cuda:1")'),
        )
    ]
    monkeypatch.setattr(exploration, "candidates", lambda _: [first, other, second])
    with laboratory(tmp_path, "train.py") as found:
        result = search(found, quiet)
    assert result.verified[0].changes == (first, second)
    assert [len(trial.changes) for trial in result.trials[:2]] == [1, 2]
