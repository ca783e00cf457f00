"""A model in one line."""

from __future__ import annotations

import pytest

from devsan.diagnosis.strip import strip


def modules(*groups: tuple[str, str]) -> list[tuple[str, str]]:
    """("cuda:0", "embed layers.0-2"), ... as paths and devices."""
    found: list[tuple[str, str]] = [("", "")]
    for device, names in groups:
        for name in names.split():
            stem, _, last = name.rpartition("-")
            first = stem.rpartition(".")[2] if stem.rpartition(".")[2].isdigit() and last.isdigit() else ""
            of = stem.removesuffix(first)
            numbers = [f"{of}{each}" for each in range(int(first), int(last) + 1)] if first else [name]
            found += [(each, device) for each in numbers]
    return found


@pytest.mark.parametrize(
    ("groups", "line"),
    [
        (
            [("cuda:0", "embed layers.0-2"), ("cuda:1", "layers.3-6"), ("cuda:2", "layers.7-8 norm head")],
            "cuda:0 embed,0-2 | cuda:1 3-6 | cuda:2 7-8,norm,head",
        ),
        ([("cuda:0", "model.embed model.layers.0-3"), ("cuda:1", "model.layers.4-7"), ("cuda:0", "lm_head")],
         "cuda:0 embed,0-3 | cuda:1 4-7 | cuda:0 lm_head"),
        ([("cuda:0", "encoder.layer.0-3"), ("cuda:1", "encoder.layer.4-5 decoder.block.0-5"), ("cuda:2", "head")],
         "cuda:0 encoder.layer.0-3 | cuda:1 encoder.layer.4-5,decoder | cuda:2 head"),
        ([("cuda:0", "embed layers.0.attn"), ("cuda:1", "layers.0.mlp layers.1.attn layers.1.mlp")],
         "cuda:0 embed,0.attn | cuda:1 0.mlp,1"),
        ([("cuda:0", "a b layers.0-9")], ""),
        ([(f"cuda:{number % 2}", f"layers.{number}") for number in range(40)], ""),
    ],
)  # fmt: skip
def test_the_line_of_a_model(groups: list[tuple[str, str]], line: str) -> None:
    assert strip(modules(*groups)) == line


def test_names_that_look_like_runs() -> None:
    assert strip([("down-2", "cuda:0"), ("3", "cuda:0"), ("up", "cuda:1")]) == "cuda:0 down-2,3 | cuda:1 up"


def test_modules_with_tensors_of_their_own_and_others_below() -> None:
    homes = [("", ""), ("vit", "cuda:0"), ("vit.blocks.0", "cuda:0"), ("vit.blocks.1", "cuda:1"), ("head", "cuda:1")]
    assert strip(homes) == "cuda:0 vit,0 | cuda:1 1,head"
