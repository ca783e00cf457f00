"""Values are found in frames, and nothing of the program runs for it."""

from __future__ import annotations

import argparse
import ast
import sys
import types
from collections import UserDict, defaultdict, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from devsan.introspect.frames.values import MISSING, Scope

Pair = namedtuple("Pair", "left right")


class Trap:
    """Everything about it raises."""

    plain = 1

    def __init__(self) -> None:
        self.kept = 2

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was asked for")

    def __getitem__(self, key: object) -> Any:
        raise AssertionError(f"{key} was asked for")

    @property
    def computed(self) -> Any:
        raise AssertionError("the property ran")


class TrapList(list[Any]):
    def __getitem__(self, key: Any) -> Any:
        raise AssertionError("__getitem__ ran")


class Slotted:
    __slots__ = ("empty", "full")

    def __init__(self) -> None:
        self.full = 3


@dataclass
class Config:
    size: int = 4


class Proxy(dict[str, int]):
    @property
    def __class__(self) -> Any:
        raise AssertionError("the proxy was asked what it is")


def value_of(expression: str, **variables: object) -> object:
    """The value of ``expression`` in a frame with these variables."""
    frame: list[types.FrameType] = []
    names = {**variables, "keep": lambda: frame.append(sys._getframe(1))}
    exec("keep()", names)
    return Scope(frame[0]).value(ast.parse(expression, mode="eval").body)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("x", 5),
        ("-x", -5),
        ("len", len),
        ("trap.kept", 2),
        ("trap.plain", 1),
        ("slotted.full", 3),
        ("config.size", 4),
        ("space.rate", 0.5),
        ("pair.right", "r"),
        ("things[1][0]", "b"),
        ("things[-1][0]", "b"),
        ("table['k']", "v"),
        ("table[key]", "v"),
        ("traplist[0]", "first"),
        ("user['labels']", "l"),
        ("user.labels", "l"),
        ("f'cuda:{x}'", "cuda:5"),
        ("proxy['k']", 9),
        ("module", argparse),
        ("module.Namespace", argparse.Namespace),
    ],
)
def test_a_value_is_found(expression: str, value: object) -> None:
    variables: dict[str, object] = {
        "x": 5, "trap": Trap(), "slotted": Slotted(), "config": Config(), "space": argparse.Namespace(rate=0.5),
        "pair": Pair("l", "r"), "things": [("a",), ("b",)], "table": {"k": "v"}, "key": "k",
        "traplist": TrapList(["first"]), "user": UserDict(labels="l"), "module": argparse,
        "proxy": Proxy(k=9),
    }  # fmt: skip
    assert value_of(expression, **variables) == value


@pytest.mark.parametrize(
    "expression",
    ["trap.computed", "trap.absent", "trap[0]", "trap.kept()", "slotted.empty", "table['new']", "things[7]", "absent",
     "f'{trap}'", "f'{x!r}'", "x + 1", "lambda: x"],
)  # fmt: skip
def test_what_would_have_to_run_has_no_value(expression: str) -> None:
    table: defaultdict[str, int] = defaultdict(lambda: 1)
    assert value_of(expression, x=5, trap=Trap(), slotted=Slotted(), table=table, things=[1]) is MISSING
    assert not table


def test_a_module_keeps_its_parameters_in_dictionaries() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    assert value_of("model[0].weight", model=model) is model[0].weight
    assert value_of("model[-1].running_mean", model=model) is model[1].running_mean
    assert value_of("model[2].weight", model=model) is MISSING
