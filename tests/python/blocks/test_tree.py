"""Which modules are blocks: NOTE [Blocks] in devsan/blocks/tree.py."""

from __future__ import annotations

import torch
from torch import nn

from devsan.blocks.tree import parts_of


def paths(model: nn.Module) -> list[str]:
    return [path for path, _ in parts_of(model)]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(4, 2)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mask", torch.ones(1), persistent=False)
        self.head = nn.Linear(2, 4)


def test_elements_of_the_outermost_list_are_blocks() -> None:
    assert paths(Model()) == ["scale", "embed", "layers.0", "layers.1", "head"]


def test_what_transformers_keeps_in_one_piece_is_a_block() -> None:
    model = Model()
    model._no_split_modules = ["Model"]
    assert paths(model) == [""]
    tower = nn.ModuleDict({"text": Model(), "image": Model()})
    tower._no_split_modules = ["Layer"]
    assert paths(tower)[:4] == ["text.scale", "text.embed", "text.layers.0", "text.layers.1"]


def test_a_module_without_lists_is_one_block() -> None:
    assert paths(nn.Linear(2, 2)) == [""]
    assert paths(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))) == ["0", "1", "2"]
