"""Reports in the formats that are files or lines for machines: each is a file or a folder here, found by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

Runs = Sequence[Mapping[str, Any]]


def rendered(name: str, runs: Runs) -> str:
    """Returns ``runs`` in a format.

    Args:
        name: one of ``devsan.options.FORMATS``, any but the terminal's.
        runs: documents of runs (docs/reference/run.schema.json).
    """
    text: str = import_module(f"devsan.render.{name}").render(runs)
    return text
