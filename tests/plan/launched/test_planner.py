"""What is tried next, by how the rehearsals before ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devsan.errors import DevsanError
from devsan.fix.job import Job
from devsan.fix.outcome import Outcome
from devsan.options import from_values
from devsan.plan.launched.launch import read
from devsan.plan.launched.need import Held, Need
from devsan.plan.launched.planner import LaunchPlanner
from devsan.plan.launched.result import LaunchPlan, Tried

pytest.importorskip("torch")  # the core, which says what a context takes, is that of a torch

ENDED = Outcome(0, False, [], {}, {"cuda:0": 10}, [], 1.0)
EXHAUSTED = Outcome(1, False, [], {}, {}, [], 1.0, error="CUDA out of memory. GPU 0 has a total capacity of 1 GiB")
HELD = Held("cuda:0", 3 << 30, {"parameter": 1 << 30, "optimizer_state": 2 << 30})
FAILED = Outcome(1, False, [], {}, {"cuda:0": 10}, [], 1.0, error="ValueError: no data")


class Shown:
    """Keeps what is shown."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.counts: list[tuple[int, bool]] = []
        self.rows: list[Tried | Need] = []

    def begins(self, what: str, count: int = 0, is_most: bool = False) -> None:
        assert len(self.said) == len(self.rows), "the row before is shown first"
        self.said.append(what)
        self.counts.append((count, is_most))

    def ended(self, row: Tried | Need) -> None:
        self.rows.append(row)

    def tells(self, sentence: str) -> None:
        raise AssertionError(sentence)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], Outcome]], LaunchPlan]:
    def planned(outcome_of: Callable[[str], Outcome]) -> LaunchPlan:
        (tmp_path / "train.py").write_text("from transformers import Trainer\n")
        words = ["torchrun", "--nproc-per-node", "2", "train.py"]
        job = Job(from_values(gpus=2, memory="1GiB"), ("--", *words))
        planner = LaunchPlanner(job, read(words, str(tmp_path), {}, 2), 1.0)
        shown = Shown()
        monkeypatch.setattr(planner, "_run", lambda *_: (outcome_of(shown.said[-1]), HELD))
        return planner.plan(shown)

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


def test_each_row_is_shown_as_soon_as_it_is_known(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown()
    monkeypatch.setattr(sys.modules[__name__], "Shown", lambda: shown)
    found = plan(lambda said: EXHAUSTED)
    assert shown.rows == [*found.tried, *found.needs, *found.levers] and not found.is_partial
    assert shown.counts[: len(found.tried)] == [(8, False)] * 8
    most = len(shown.rows)
    assert shown.counts[8:] == [(most, True)] * (most - 8)


def test_what_was_rehearsed_before_an_interrupt_is_the_plan(plan: Any) -> None:
    def outcome_of(said: str) -> Outcome:
        if "ZeRO-2" in said:
            raise KeyboardInterrupt
        return ENDED if "ZeRO-1" in said else EXHAUSTED

    found = plan(outcome_of)
    assert found.is_partial and (len(found.tried), found.count) == (2, 8)
    assert found.best.configuration.strategy.name == "ZeRO-1"


def test_an_interrupt_before_the_first_row_is_one(plan: Any) -> None:
    def outcome_of(said: str) -> Outcome:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan(outcome_of)


def test_what_may_need_the_least_is_rehearsed_without_a_limit(plan: Any) -> None:
    limitless: list[str] = []

    def outcome_of(said: str) -> Outcome:
        if "without a limit" in said:
            limitless.append(said)
            return ENDED
        return EXHAUSTED

    found = plan(outcome_of)
    assert [each.configuration.strategy.name for each in found.needs] == [
        "FSDP2", "ZeRO-3, optimizer and parameters on the host",
    ]  # fmt: skip
    assert len(limitless) == 2
    assert found.needs[0].held == HELD and found.needs[0].room < 1 << 30
    assert not plan(lambda said: ENDED if "ZeRO-1" in said else EXHAUSTED).needs, "something fits"
