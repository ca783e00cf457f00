"""Cells of IPython and Jupyter, which show a traceback of their own and never call ``sys.excepthook``.

The events of IPython are used, not ``set_custom_exc``: the traceback stays IPython's own, and a handler that the user
has set stays in charge.
"""

from __future__ import annotations

import linecache
import os
import sys
from types import TracebackType
from typing import Any, Protocol


class Report(Protocol):
    """Reports on an exception."""

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None, is_shown: bool, /
    ) -> None:
        """Reports on ``error``; ``is_shown``: its traceback stands right above."""


_report: Report | None = None
_shell: Any = None
_last: object = None  # what sys.last_value was when the cell began


def install(report: Report) -> None:
    """Has the exception that ends a cell reported on, when this process is IPython's."""
    global _report, _shell, _last
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is None:
        return
    _report, _shell, _last = report, shell, getattr(sys, "last_value", None)
    shell.events.register("pre_run_cell", _begin)
    shell.events.register("post_run_cell", _end)


def uninstall() -> None:
    """Takes back what ``install`` did."""
    global _report, _shell
    if _shell is not None:
        _shell.events.unregister("pre_run_cell", _begin)
        _shell.events.unregister("post_run_cell", _end)
    _report = _shell = None


def name_of(file: str) -> str | None:
    """Returns how IPython calls the cell whose code has the file name ``file``: "Cell In[3]"; None for a file."""
    try:
        found = _ipython_names(file)
        return " ".join(found) if found is not None else None
    except Exception:  # an IPython of another age
        return None


def cells() -> dict[str, str]:
    """Returns how IPython calls its cells, by the last parts of their file names: {"12345.py": "Cell In[3]"}."""
    if "IPython" not in sys.modules:
        return {}
    names = {file: name_of(file) for file in list(linecache.cache)}  # where IPython leaves the source of its cells
    return {os.path.basename(file): name for file, name in names.items() if name is not None}


def _ipython_names(file: str) -> tuple[str, str] | None:
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    names: tuple[str, str] | None = None if shell is None else shell.compile.format_code_name(file)
    return names


def _begin(_: object = None) -> None:
    global _last
    _last = getattr(sys, "last_value", None)


def _end(result: Any = None) -> None:
    # %run and %%time show the exception themselves; the cell then counts as done
    shown = getattr(sys, "last_value", None)
    error = getattr(result, "error_in_exec", None) or (shown if shown is not _last else None)
    if _report is not None and isinstance(error, BaseException):
        by_hand = getattr(_shell, "custom_exceptions", ())  # a handler of the user's shows these as it likes
        _report(type(error), error, error.__traceback__, not isinstance(error, by_hand))
