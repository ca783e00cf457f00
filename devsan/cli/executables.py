"""The commands that can be started."""

from __future__ import annotations

import os
import shutil
import sys


def find_command(word: str) -> str | None:
    """Returns what to start for ``word``: the word itself where it is on PATH, else the command of that name beside
    this Python, whose environment may not be activated; None where there is neither."""
    if shutil.which(word) is not None:
        return word
    return shutil.which(word, path=os.path.dirname(sys.executable))
