"""The steps of this process's optimizers, counted where ``devsan top`` finds them.

A program may have several optimizers, or one for each parameter. A step of the program is over when one of them steps
that has stepped already since the last began: an optimizer that is replaced by another, or steps less often, is no
other case.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from devsan.optimizer_steps import watch_steps

_undo: Callable[[], None] | None = None
_count: Callable[[], object] = bool
_stepped: set[int] = set()  # the ids of those that have since the last step began


def begin(core: ModuleType) -> None:
    """Has steps counted, if torch is loaded. A second call does nothing."""
    global _undo, _count
    if _undo is None:
        _count = core.count_step
        _undo = watch_steps(after=_after_step)


def end() -> None:
    """Takes back what ``begin`` did."""
    global _undo
    if _undo is not None:
        _undo()
        _undo = None
        _stepped.clear()


def _after_step(optimizer: Any) -> None:
    number = id(optimizer)
    if number in _stepped:
        _stepped.clear()
    if not _stepped:
        _count()
    _stepped.add(number)
