"""Reports in the formats that are files or lines for machines: each is a file or a folder here, found by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

Runs = Sequence[Mapping[str, Any]]


PAGES = ("html",)
"""The formats that are in both languages, and open in one."""


def rendered(name: str, runs: Runs, language: str = "") -> str:
    """Returns ``runs`` in a format.

    Args:
        name: one of ``devsan.report_format.FORMATS``, any but the terminal's.
        runs: documents of runs (docs/reference/run.schema.json).
        language: in which a page opens; by default the one that is asked for, else that of the browser.
    """
    format = import_module(f"devsan.render.{name}")
    text: str = format.render(runs, language) if name in PAGES else format.render(runs)
    return text
