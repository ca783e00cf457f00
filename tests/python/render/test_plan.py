"""Why nothing fits, beneath the rows of a plan."""

from __future__ import annotations

import pytest

from devsan.blocks.measured import Block, Measured
from devsan.plan.launched.configuration import Configuration, Lever
from devsan.plan.launched.need import Held, Need
from devsan.plan.launched.result import LaunchPlan
from devsan.plan.launched.result import Tried as Launched
from devsan.plan.launched.strategy import DDP, FSDP2, LEANEST
from devsan.plan.result import PlanResult, Tried
from devsan.plan.shortage import Shortage
from devsan.render.language import language_named
from devsan.render.terminal import launch_plan, plan

GIB = 1 << 30
SHORTAGE = Shortage("cuda:0", "optimizer", GIB // 2, 20 * GIB, {"optimizer_state": 12 * GIB, "parameter": 8 * GIB})


def text(lines, language: str = "en") -> str:
    pieces = ("".join(piece for piece, _ in line) for line in lines)
    return " ".join(" ".join(pieces).replace("\N{NO-BREAK SPACE}", " ").split())


def of_program(*levers: Tried, rooms: list[int], whole: int) -> PlanResult:
    measured = Measured("Model", [Block("", "Model")])
    as_it_is = Tried("as it is", reason="cuda:0 is out of memory", shortage=SHORTAGE)
    planned, gpus = Tried("map", reason="no map fits"), [24 * GIB] * len(rooms)
    return PlanResult(gpus, measured, as_it_is, planned, list(levers), rooms=rooms, whole=whole)


def of_launch(allocated: int, *levers: Launched) -> LaunchPlan:
    tried = [Launched(Configuration(each, (), {}), reason="no", shortage=SHORTAGE) for each in (DDP, FSDP2)]
    need = Need(tried[1].configuration, Held("cuda:0", allocated, {"parameter": allocated}), 2 * GIB)
    return LaunchPlan("train.py", [3 * GIB] * 2, tried, levers, [need], 8)


def test_a_program_that_takes_more_than_all_gpus_have() -> None:
    found = of_program(Tried("gpus", 4, True), Tried("batch", 1), rooms=[20 * GIB, 20 * GIB], whole=60 * GIB)
    said = text(plan.plan_lines(found, language_named("en"), 100))
    assert "as it is: cuda:0 runs out of memory in the optimizer's step: 512 MiB more would be needed" in said
    assert "it holds 20 GiB then: optimizer state 12 GiB, parameters 8 GiB" in said
    assert "all of it has a peak of 60 GiB, and the GPUs together have 40 GiB for it: 20 GiB are missing" in said
    assert "it fits with: 4 GPUs" in said and "batch of 1," not in said


@pytest.mark.parametrize(
    ("rooms", "expected"),
    [
        ([20 * GIB], "and the GPU has 20 GiB for it: 12 GiB are missing"),
        ([20 * GIB] * 2, "and the GPUs together have 40 GiB for it, but in no parts that fit"),
    ],
)
def test_what_is_missing_of_all(rooms: list[int], expected: str) -> None:
    said = text(plan.plan_lines(of_program(rooms=rooms, whole=32 * GIB), language_named("en"), 100))
    assert expected in said and "no lever that was tried makes it fit" in said


def test_a_plan_of_which_a_part_is_known_does_not_say_why() -> None:
    found = of_program(rooms=[GIB], whole=32 * GIB)
    found.is_partial = True
    assert "why nothing fits" not in text(plan.plan_lines(found, language_named("en"), 100))


def test_a_launch_is_judged_by_what_comes_nearest() -> None:
    lever = Launched(Configuration(FSDP2, (), {}, lever=Lever(gpus=4)), True)
    said = text(launch_plan.plan_lines(of_launch(5 * GIB, lever), language_named("en"), 100))
    assert "FSDP2 needs 5 GiB of cuda:0, which has 2 GiB for tensors: at least 3 GiB are missing" in said
    assert "it holds 5 GiB then: parameters 5 GiB" in said
    assert "in the optimizer's step: 512 MiB more would be needed" in said and "fits with: FSDP2, 4 GPUs" in said
    said = text(launch_plan.plan_lines(of_launch(GIB), language_named("en"), 100))
    assert "which has 2 GiB for tensors, but not in pieces that are large enough" in said


def test_it_is_said_in_chinese() -> None:
    said = text(plan.plan_lines(of_program(rooms=[GIB], whole=32 * GIB), language_named("zh"), 100))
    assert "优化器状态 12 GiB" in said and "missing" not in said and "memory in" not in said
    said = text(launch_plan.plan_lines(of_launch(5 * GIB), language_named("zh"), 100))
    assert "至少缺 3 GiB" in said and "needs" not in said


def test_a_row_that_does_not_fit_stays_within_the_terminal() -> None:
    name = Configuration(LEANEST, (), {}, lever=Lever(batch=1))
    tried = [Launched(name, reason="cuda:0 is out of memory: 1.86 GiB requested"), Launched(name, True)]
    lines = list(launch_plan.plan_lines(LaunchPlan("train.py", [GIB], tried, count=8), language_named("en"), 100))
    rows = ["".join(piece for piece, _ in line) for line in lines]
    assert rows[3].endswith("batch of 1  cuda:0 is out of memory: 1.86 GiB") and max(map(len, rows[:6])) <= 100
