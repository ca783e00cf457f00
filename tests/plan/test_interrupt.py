"""``devsan plan`` that is interrupted shows what has been rehearsed so far."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from devsan.blocks.request import Answer
from devsan.options import Options
from devsan.plan import planner
from devsan.plan.placement import Placement

MODEL = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(1024, 1024), nn.Linear(1024, 1024)).to("cuda")
with torch.no_grad():
    model(torch.zeros(1, 1024, device="cuda"))
"""


def interrupted(folder: Path, *words: str) -> tuple[int, str, str]:
    """What a plan leaves that is interrupted when its first row is known."""
    folder.joinpath("train.py").write_text(MODEL)
    process = subprocess.Popen(
        [sys.executable, "-m", "devsan", "plan", "--gpus", "2", "--lang", "en", *words, "train.py"], cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, first + err


@pytest.mark.long
def test_the_table_says_that_it_is_partial(tmp_path: Path) -> None:
    code, out, err = interrupted(tmp_path, "-o", "map.json")
    assert code == 130, err
    assert err.startswith("devsan: as it is: fits: cuda:0")
    assert "map.json is not written: the plan was interrupted" in err
    assert not tmp_path.joinpath("map.json").exists()
    lines = out.splitlines()
    assert lines[1].startswith("as it is     fits: cuda:0")
    assert "planned map  not tried: interrupted" in lines
    assert lines[-1] == "interrupted: this is a part of the plan, and more may fit"


@pytest.mark.parametrize("memory", ["1GiB", "2MiB"])
@pytest.mark.long
def test_json_is_one_document_and_does_not_say_that_nothing_fits(tmp_path: Path, memory: str) -> None:
    code, out, err = interrupted(tmp_path, "--json", "--memory", memory)
    found = json.loads(out)
    assert (code, found["is_partial"], found["measured"]) == (130, True, None), err
    assert found["fits"] is (True if memory == "1GiB" else None)


def test_a_map_that_was_rehearsed_is_kept_while_the_next_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    placement = Placement({"first": 0, "second": 1}, [1, 1], 0)
    monkeypatch.setattr(planner, "place", lambda *_: placement)
    exhausted = Mock(exhausted=0, reason="cuda:0 is out of memory", fails=False)
    outcome = Mock(ended=True, peaks={}, places=(), seconds=1.0, findings=())
    first = Mock(ending=exhausted, outcome=outcome, transferred=0, answer=Answer(places=1, measured=Mock(blocks=[])))
    rehearsals = Mock(run=Mock(side_effect=[first, first, first, KeyboardInterrupt]))
    rehearsals.job.options = Options().updated({"gpus": "2"})
    result = planner.Planner(rehearsals, Mock()).plan()
    assert result.is_partial
    assert (result.planned.placement, result.planned.reason) == (placement, "cuda:0 is out of memory")
