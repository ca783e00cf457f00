"""What is replaced wherever a module holds it, and put back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch  # noqa: F401  (the core needs it)

from devsan.cuda.patches import Patches
from devsan.cuda.rebinding import rebind


@pytest.fixture
def old() -> object:
    """What is replaced; this file is a module, too, and must not hold it."""
    return object()


@pytest.fixture
def new() -> object:
    return object()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Returns a function that adds a module with these attributes to ``sys.modules``."""

    def add(name: str, **attributes: Any) -> ModuleType:
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    yield add


def test_every_name_is_replaced_and_put_back(held: Any, old: object, new: object) -> None:
    one, other = held("patched_one", a=old, b=old, c=1), held("patched_other", a=old)
    patches = Patches()
    rebind(patches, {id(old): new})
    assert (one.a, one.b, one.c, other.a) == (new, new, 1, new)
    patches.undo()
    assert (one.a, one.b, one.c, other.a) == (old, old, 1, old)


def test_a_module_with_two_names(held: Any, old: object, new: object, monkeypatch: pytest.MonkeyPatch) -> None:
    module = held("patched", a=old)
    monkeypatch.setitem(sys.modules, "patched_again", module)
    patches = Patches()
    rebind(patches, {id(old): new})
    assert module.a is new
    patches.undo()
    assert module.a is old


def test_what_is_no_module_and_what_is_devsans_keeps_it(
    held: Any, old: object, new: object, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    own = held("devsan.patched", a=old)
    stand_in = SimpleNamespace(a=old)
    monkeypatch.setitem(sys.modules, "patched_stand_in", stand_in)
    monkeypatch.setitem(sys.modules, "patched_nothing", None)
    rebind(Patches(), {id(old): new})
    assert own.a is stand_in.a is old
