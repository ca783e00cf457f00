"""What the closing line of ``devsan run`` costs: the end of a run with it, beside the same with ``--quiet``.

In pairs of new processes, because what the line imports counts. Timed is `Closing.finish`, which comes when all else
has ended: the whole life of a process differs from one to the next by a hundred times as much.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from table import Row

ROUNDS = 7
GOAL = 5e-3

PROGRAM = """
import time
import torch
from devsan.cli.closing import Closing

finish = Closing.finish

def timed(closing, code):
    begin = time.perf_counter()
    code = finish(closing, code)
    print(time.perf_counter() - begin)
    return code

Closing.finish = timed
torch.ones(1 << 16, device="cuda:0").to("cuda:1")
"""


def end_of_run(file: Path, *options: str) -> float | str:
    """Returns the seconds that the end took, or what went wrong."""
    kept = {name: text for name, text in os.environ.items() if name != "DEVSAN_OPTIONS"}
    words = [sys.executable, "-m", "devsan", "run", "--gpus", "2", *options, str(file)]
    done = subprocess.run(words, cwd=file.parent, env={**kept, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    has_line = "devsan: " in done.stderr
    if done.returncode != 0 or has_line == bool(options):
        return (done.stderr.strip().splitlines() or ["no closing line"])[-1]
    return float(done.stdout)


def measure() -> list[Row] | str:
    told: list[float] = []
    quiet: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        file = Path(name, "program.py")
        file.write_text(PROGRAM, encoding="utf-8")
        for turn in range(ROUNDS + 1):
            cases = [((), told), (("--quiet",), quiet)]
            for options, seconds in cases if turn % 2 else reversed(cases):
                took = end_of_run(file, *options)
                if isinstance(took, str):
                    return f"closing_line: failed; {took}"
                if turn:  # the first one writes the bytecode
                    seconds.append(took)
    added = statistics.median(own - other for own, other in zip(told, quiet, strict=True))
    return [
        Row(
            "end of a run with the closing line",
            statistics.median(told),
            "with --quiet",
            statistics.median(quiet),
            difference=added,
            goal=GOAL,
        )
    ]
