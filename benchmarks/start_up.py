"""What DevSan adds to ``import torch``: when it starts GPUs there, and when nobody asked for it."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

from table import Row

ROUNDS = 11

# What torch does with an entry point, apart from finding it, which it does with or without DevSan.
ENTRY_POINT = """
import torch, time
begin = time.perf_counter()
from devsan.autoload import load
load()
print(time.perf_counter() - begin)
"""


def run(code: str, **environment: str) -> tuple[float, str]:
    """Returns how long a new Python took, start to end, and what it printed."""
    kept = {name: text for name, text in os.environ.items() if name != "DEVSAN_OPTIONS"}
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tempfile.gettempdir(),  # not the repository, whose devsan/ without a core would come first
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - begin, done.stdout.strip()


def measure() -> list[Row] | str:
    if run("import torch; print(torch.cuda.device_count())", DEVSAN_OPTIONS="gpus=2")[1] != "2":
        return "start-up: skipped; DevSan is not installed here, so torch does not find its entry point"
    without, started, unset = [], [], []
    for _ in range(ROUNDS):
        without.append(run("import torch", TORCH_DEVICE_BACKEND_AUTOLOAD="0")[0])
        started.append(run("import torch", DEVSAN_OPTIONS="gpus=2")[0])
        unset.append(float(run(ENTRY_POINT, TORCH_DEVICE_BACKEND_AUTOLOAD="0")[1]))
    added = statistics.median(own - other for own, other in zip(started, without, strict=True))
    beside = statistics.median(without)
    return [
        Row(
            "import torch with DEVSAN_OPTIONS set",
            statistics.median(started),
            "import torch",
            beside,
            difference=added,
            goal=0.2,
        ),
        Row(
            "DevSan's entry point, DEVSAN_OPTIONS unset",
            statistics.median(unset),
            difference=statistics.median(unset),
            goal=1e-3,
        ),
    ]
