"""The steps of this process's optimizers, counted where ``devsan top`` finds them, with how many there will be.

A program may have several optimizers, or one for each parameter. A step of the program is over when one of them steps
that has stepped already since the last began: an optimizer that is replaced by another, or steps less often, is no
other case.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from devsan.optimizer_steps import watch_steps

if TYPE_CHECKING:
    from devsan.running.progress import Progress

_undo: Callable[[], None] | None = None
_count: Callable[[], object] = bool
_progress: Progress | None = None
_stepped: set[int] = set()  # the ids of those that have since the last step began


def begin(core: ModuleType, path: str) -> None:
    """Has steps counted, if torch is loaded; a second call counts them from one.

    Args:
        core: counts them.
        path: of the file that shows how many there will be.

    Raises:
        OSError: there can be no such file.
    """
    global _undo, _count, _progress
    if _progress is None:
        from devsan.running.progress import Progress

        _progress = Progress()
    _progress.show_in(path)
    _count = core.count_step
    if _undo is None:
        _undo = watch_steps(after=_after_step)
    _progress.follow()


def end() -> None:
    """Takes back what ``begin`` did."""
    global _undo
    if _undo is not None:
        _undo()
        _undo = None
        _stepped.clear()
    if _progress is not None:
        _progress.end()


def hide() -> None:
    """A forked child shows nothing in the file of its parent."""
    if _progress is not None:
        _progress.hide()


def _after_step(optimizer: Any) -> None:
    number = id(optimizer)
    if number in _stepped:
        _stepped.clear()
    if not _stepped:
        _count()
        if _progress is not None:
            _progress.after_step()
    _stepped.add(number)
