"""The memory of usual training set-ups on one GPU: those of benchmarks/memory.py, with their shapes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

OUTSIDE = True
JOBS = (4, 6)  # on the GPU, of which each takes a large part; on the emulation
ROOT = Path(__file__).parents[3]


def rows(scratch: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    from memory import SETUPS

    for name, setup in SETUPS.items():
        if setup.gpus == 1:
            yield (
                name,
                lambda name=name: measured([str(ROOT / "benchmarks" / "memory.py"), "--worker", name], "--full-size"),
            )


def measured(words: list[str], *options: str) -> dict[str, Any]:
    """The figures in the last line of a program, run on the GPU or under `devsan run`."""
    profile = os.environ.get("DEVSAN_PARITY_PROFILE")
    before = ["-m", "devsan", "run", "--gpus", f"1:{profile}", *options] if profile else []
    # Elsewhere than in the sources: `-m devsan` would take those, which have no core.
    done = subprocess.run([sys.executable, *before, *words], capture_output=True, text=True, cwd=tempfile.gettempdir())
    if done.returncode != 0:
        return {"failed": done.stderr[-1000:]}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures


def compared(real: dict[str, Any], emulated: dict[str, Any]) -> tuple[list[str], int, str]:
    """A row of a table for each figure."""
    texts, apart, failed = (
        ["| set-up | figure | GPU, MiB | emulation, MiB | difference |", "|---|---|---:|---:|---:|"],
        [],
        0,
    )
    for title, figures in real.items():
        for name, figure in figures.items():
            ours = emulated.get(title, {}).get(name)
            if isinstance(figure, str) or not ours:
                texts.append(f"| {title} | {name} | {figure} | {emulated.get(title)} | |")
                failed += 1
                continue
            apart.append(ours / figure - 1)
            texts.append(f"| {title} | {name} | {figure / 2**20:.2f} | {ours / 2**20:.2f} | {apart[-1]:+.2%} |")
    within = sum(abs(each) <= 0.01 for each in apart)
    same = sum(each == 0 for each in apart)
    summary = f"{len(apart)} figures, {within} within 1 %, {same} equal to the byte"
    return texts, failed + len(apart) - same, f"{summary}, {failed} missing" if failed else summary
