"""The formats of reports, and the names of the files that have them."""

from __future__ import annotations

import os

from devsan.errors import UsageError

FORMATS = ("terminal", "json", "html", "sarif", "perfetto", "github")
"""Of reports. ``devsan/render`` has a file or a folder of each name."""

ON_STDERR = ("terminal", "github")
"""The formats that follow a traceback. The others are files."""

OF_RUNS = ("html", "perfetto")
"""The formats that show a run, not findings alone."""

_ENDINGS = {"perfetto": ".perfetto.json"}
"""Of files, where it is not the name of their format."""

OFF = "off"
"""As ``format``: no report."""

_FILES = {_ENDINGS.get(name, f".{name}"): name for name in FORMATS if name not in ON_STDERR}
_RUN_FILE = ".dvs"


def format_of(output: str) -> str:
    """Returns the format that is a file with the ending of ``output``; "" where there is none."""
    fitting = [ending for ending in _FILES if output.lower().endswith(ending)]
    return _FILES[max(fitting, key=len)] if fitting else ""


def refuse_ending(output: str) -> None:
    """Refuses the name of a run file that looks like another kind of file."""
    ending = os.path.splitext(output)[1]
    if ending not in ("", _RUN_FILE) and "%" not in ending:  # %r, %p: of which rank, of which process
        *endings, last = (_RUN_FILE, *_FILES)
        raise UsageError(f"output that ends with {', '.join(endings)} or {last}", repr(os.path.basename(output)))
