"""FakeGPU (PyPI) at the same work, where the Python in DEVSAN_BENCH_FAKEGPU_PYTHON has it, torch and transformers."""

from __future__ import annotations

import os

from measure import Contender, Worker, in_turns
from table import Row, row

VARIABLE = "DEVSAN_BENCH_FAKEGPU_PYTHON"


def measure() -> list[Row] | str:
    python = os.environ.get(VARIABLE)
    if not python:
        return f"FakeGPU: skipped; {VARIABLE} names no Python to run it with"
    rows = []
    with Worker("plain", python) as plain, Worker("fakegpu", python) as fake:
        for name, work, rounds in (("add of 4 elements", "add", 31), ("Llama forward + backward", "llama", 21)):
            baseline = Contender("plain CPU", plain, f"{work} cpu")
            [result] = in_turns(baseline, [Contender("FakeGPU", fake, f"{work} cuda")], rounds)
            rows.append(row(f"{name}, FakeGPU", result))
    return rows
