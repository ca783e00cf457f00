"""The memory of programs that train and generate at the size of real models: rehearsed at full size, and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from subjects.setups import compared, measured

__all__ = ["compared", "rows"]

OUTSIDE = True
JOBS = (2, 7)  # on the GPU, of which each takes a large part; on the emulation
PROGRAM = Path(__file__).parents[1] / "programs.py"


def rows(scratch: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    from programs import PROGRAMS

    for name in PROGRAMS:
        yield name, lambda name=name: measured([str(PROGRAM), name], "--full-size")
