"""What is wrong with a map, from facts about a model."""

from __future__ import annotations

import pytest

from devsan.blocks.measured import Block, Measured, Names
from devsan.plan.map_check import check_map

MEASURED = Measured("Model", [Block("embed", "Embedding"), Block("layers.0", "Layer"), Block("head", "Linear")])
NAMES = Names(
    ["", "embed", "layers", "layers.0", "layers.0.up", "layers.0.down", "head"],
    [["embed.weight", "head.weight"], ["layers.0.up.weight"], ["layers.0.down.weight"], ["scale"]],
)


@pytest.mark.parametrize(
    ("device_map", "kinds"),
    [
        ({"": 0}, []),
        ({"": "cuda"}, []),
        ({"embed": 0, "layers": "cuda:1", "head": "0", "scale": 0}, []),
        ({"embed": 0, "layers.0": 1, "head": 0}, ["uncovered"]),
        ({"": 0, "layers.0.up": 1}, ["cut"]),
        ({"": 0, "head": 1}, ["tied"]),
        ({"": 0, "layers.1": 0}, ["dangling"]),
        ({"": 0, "layer": 0, "layers": 2}, ["dangling", "device"]),
        ({"": "cpu"}, []),
    ],
)
def test_problems(device_map: dict[str, int | str], kinds: list[str]) -> None:
    assert [problem.kind for problem in check_map(device_map, MEASURED, NAMES, 2)] == kinds


def test_what_has_no_entry_is_told_by_the_largest_modules() -> None:
    layers = [f"layers.{at}" for at in range(12)]
    names = Names(
        ["", "embed", "layers", *layers, *(f"{layer}.{part}" for layer in layers for part in ("up", "down"))],
        [["embed.weight"], *([f"{layer}.{part}.weight"] for layer in layers for part in ("up", "down"))],
    )
    problems = check_map({"embed": 0, "layers.0": 0, "layers.5.up": 1}, MEASURED, names, 2)
    without = [problem.text.arguments["name"] for problem in problems if problem.kind == "uncovered"]
    assert without == ["layers.1-4", "layers.5.down", "layers.6-11"]
    assert all(problem.refused for problem in problems if problem.kind == "uncovered")


def test_a_map_of_nothing_is_told_by_the_model() -> None:
    problems = check_map({"other": 0}, MEASURED, NAMES, 2)
    assert [str(problem.text) for problem in problems] == [
        "other is no module and no tensor of Model",
        "Model has no entry, and no module that contains it has one",
    ]
