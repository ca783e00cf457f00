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
