"""What is tried next, by how the rehearsals before ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devsan.errors import DevsanError
from devsan.fix.job import Job
from devsan.fix.outcome import Outcome
from devsan.options import from_values
from devsan.plan.launched.launch import read
from devsan.plan.launched.planner import LaunchPlanner
from devsan.plan.launched.result import LaunchPlan

ENDED = Outcome(0, False, [], {}, {"cuda:0": 10}, [], 1.0)
EXHAUSTED = Outcome(1, False, [], {}, {}, [], 1.0, error="CUDA out of memory. GPU 0 has a total capacity of 1 GiB")
FAILED = Outcome(1, False, [], {}, {"cuda:0": 10}, [], 1.0, error="ValueError: no data")


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], Outcome]], LaunchPlan]:
    def planned(outcome_of: Callable[[str], Outcome]) -> LaunchPlan:
        (tmp_path / "train.py").write_text("from transformers import Trainer\n")
        words = ["torchrun", "--nproc-per-node", "2", "train.py"]
        job = Job(from_values(gpus=2), ("--", *words))
        planner = LaunchPlanner(job, read(words, str(tmp_path), {}, 2), 1.0)
        said: list[str] = []
        monkeypatch.setattr(planner, "_run", lambda *_: outcome_of(said[-1]))
        return planner.plan(said.append)

    return planned


def test_a_lever_is_not_tried_with_what_fails_for_another_reason(plan: Any) -> None:
    found = plan(lambda said: FAILED if "FSDP2" in said else EXHAUSTED)
    assert found.best is None and [each.fails for each in found.tried].count(True) == 1
    assert found.levers and not any(each.configuration.strategy.is_fsdp for each in found.levers)


def test_a_program_that_fails_with_each_is_no_question_of_memory(plan: Any) -> None:
    with pytest.raises(DevsanError, match="expected a job that runs or is out of memory, got ValueError: no data"):
        plan(lambda said: FAILED)


def test_what_fits_needs_no_lever(plan: Any) -> None:
    found = plan(lambda said: ENDED if "ZeRO-3" in said else FAILED)
    assert found.fits and not found.levers and found.best.configuration.strategy.name == "ZeRO-3"
