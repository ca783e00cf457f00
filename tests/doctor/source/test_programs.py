"""Each rule finds what is marked in the programs, by code and line, and nothing that is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devsan.diagnostics.detectors import own_code
from devsan.doctor.source import check
from devsan.doctor.source.rules import RULES
from devsan.doctor.source.source_file import read_source

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def marked(path: Path) -> list[tuple[int, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(number, code) for number, line in enumerate(lines, 1) for code in re.findall(r"# (DV\d{3})$", line)]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_finds_what_is_marked_and_nothing_else(path: Path):
    result = check([path])
    assert result.notes == []
    found = [(finding.place.line, finding.code) for finding in result.findings if finding.place]
    assert sorted(found) == marked(path)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_findings_stand_where_they_say(path: Path):
    source = read_source(path)
    for finding in check([path]).findings:
        assert finding.place is not None and source.between(finding.place).strip()
        assert finding.evidence and finding.fixes[0].text and finding.title
        assert not any(text.endswith((".", "!")) for text in (finding.title, finding.fixes[0].text, *finding.evidence))
        for edit in finding.fixes[0].edits:
            assert source.between(edit.place) == edit.before
            assert edit.after != edit.before


def test_every_code_of_the_rules_is_marked_somewhere():
    given = {own_code(rule.__module__) for rule in RULES}
    assert given == {code for path in PROGRAMS for _, code in marked(path)}


@pytest.mark.parametrize(
    ("logits", "fix"),
    [
        ("logits", "move `labels` to the device of `logits`: `labels.to(logits.device)`"),
        ("net(x)", "move `labels` to the device of `net(x)` before they are combined"),
    ],
)
def test_a_fix_of_a_loss_does_not_call_the_model_once_more(tmp_path: Path, logits: str, fix: str):
    (tmp_path / "train.py").write_text(f"""\
import torch

net = torch.nn.Linear(4, 4).to("cuda:1")
x = torch.ones(2, 4, device="cuda:1")
logits = net(x)
labels = torch.zeros(2, dtype=torch.long, device="cuda:0")
torch.nn.functional.cross_entropy({logits}, labels)
""")
    assert [str(found.fixes[0].text) for found in check([tmp_path / "train.py"]).findings] == [fix]


@pytest.mark.parametrize(
    ("first", "second", "met", "fix"),
    [
        ("a", "b", "a + b", "move `a` to the device of `b` before they are combined"),
        ("b", "a", "a + b", "take the device from the tensor that it is used with: `device=b.device`"),
        ("b", "a", "a + b.abs()", "move `a` to the device of `b.abs()` before they are combined"),
    ],
)
def test_a_device_is_asked_for_where_there_is_one(tmp_path: Path, first: str, second: str, met: str, fix: str):
    made = {"a": 'torch.ones(3, device="cuda:0")', "b": 'torch.ones(3, device="cuda:1")'}
    text = f"import torch\n{first} = {made[first]}\n{second} = {made[second]}\nprint({met})\n"
    (tmp_path / "later.py").write_text(text)
    assert [str(found.fixes[0].text) for found in check([tmp_path / "later.py"]).findings] == [fix]


@pytest.mark.parametrize("moved", ['self.scale.data.to("cuda:0")', "self.scale.data.cuda(0)"])
def test_data_that_is_assigned_moves_its_tensor(tmp_path: Path, moved: str):
    (tmp_path / "data.py").write_text(f"""\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8).to("cuda:0")
        self.scale = nn.Parameter(torch.ones(8))
        self.place()

    def place(self):
        self.scale.data = {moved}

    def forward(self, x):
        return self.lin(x) * self.scale

Net()(torch.ones(2, 8, device="cuda:0"))
""")
    assert check([tmp_path / "data.py"]).findings == []
