"""After the fact: ``devsan.install``, ``devsan.uninstall`` and ``devsan.explain``, where nothing was armed before.

On real GPUs too: the frames of an error's traceback hold the tensors and their names. Until an error comes nothing that
takes time is imported, and nothing is watched or recorded.
"""

from __future__ import annotations

import io
import os
import re
import sys

from devsan import excepthook
from devsan.error_report import on_exception

_VARIABLE, _REAL = "DEVSAN_OPTIONS", "gpus=real"
COLOR = re.compile(r"\x1b\[[\d;]*m")
"""What a text for people and logs goes without: FORCE_COLOR is meant for the terminal."""


def install() -> None:
    """Has every uncaught device error explained on stderr, behind its traceback. A second call does nothing.

    Uncaught are those that end the program, a thread or a child process, and those of a cell in IPython or Jupyter.
    Processes that the program starts do the same where DevSan is installed: they find ``DEVSAN_OPTIONS``, unless it was
    set already. Under pytest a failed test gets a section of its own. torch is not imported.
    """
    excepthook.install()
    os.environ.setdefault(_VARIABLE, _REAL)


def uninstall() -> None:
    """Takes back what `install` did."""
    excepthook.uninstall()
    if os.environ.get(_VARIABLE) == _REAL:
        del os.environ[_VARIABLE]


def explain(error: BaseException | None = None) -> str:
    """Returns the report on an error that was caught; "" when it is not about devices.

    ``logging.exception("step failed\\n%s", devsan.explain(error))``

    Args:
        error: the exception. Without one that which is being handled; else the last uncaught one, as in a debugger.
    """
    if error is None:
        error = sys.exc_info()[1] or getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return "" if error is None else text_about(error)


def text_about(error: BaseException, is_shown: bool = False) -> str:
    """Returns the report on ``error``; "" when it is not about devices.

    Args:
        error: the exception.
        is_shown: whether its traceback stands above, and with it the sentence of the error.
    """
    text = io.StringIO()
    on_exception(type(error), error, error.__traceback__, text, is_shown)
    return COLOR.sub("", text.getvalue()).strip("\n")
