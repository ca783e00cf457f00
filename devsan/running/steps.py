"""The steps of this process's optimizers, counted where ``devsan top`` finds them.

A program may have several optimizers, or one for each parameter. A step of the program is over when one of them steps
that has stepped already since the last began: an optimizer that is replaced by another, or steps less often, is no
other case.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_handle: Any = None
_is_compiling: Callable[[], bool] = bool
_count: Callable[[], object] = bool
_stepped: set[int] = set()  # the ids of those that have since the last step began


def begin(core: ModuleType) -> None:
    """Has steps counted, if torch is loaded. A second call does nothing."""
    global _handle, _is_compiling, _count
    optimizer: Any = sys.modules.get("torch.optim.optimizer")
    register = getattr(optimizer, "register_optimizer_step_post_hook", None)
    if _handle is None and register is not None:
        _is_compiling, _count = sys.modules["torch"].compiler.is_compiling, core.count_step
        _handle = register(_after_step)


def end() -> None:
    """Takes back what ``begin`` did."""
    global _handle
    if _handle is not None:
        _handle.remove()
        _handle = None
        _stepped.clear()


def _after_step(optimizer: Any, arguments: Any, keywords: Any) -> None:
    """Called by torch after each step of any optimizer. What is compiled has no trace of this."""
    if _is_compiling():
        return
    number = id(optimizer)
    if number in _stepped:
        _stepped.clear()
    if not _stepped:
        _count()
    _stepped.add(number)
