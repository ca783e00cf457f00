"""Runs the benchmarks and prints one table: ``run.py [--write] [NAME ...]``.

All are single-threaded. What is compared is timed in turns within this one run; see measure.py.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from pathlib import Path

import table
from measure import WorkerError
from worker import THREADS

NAMES = (
    "small_add",
    "operators",
    "llama",
    "recording",
    "streams",
    "collectives",
    "plain_cpu",
    "start_up",
    "first_line",
    "closing_line",
    "fake_gpu",
    "doctor",
    "full_size",
)
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "benchmarks.md"

INTRODUCTION = """# Benchmarks

Written by `python benchmarks/run.py --write`. What is compared was timed in turns, in one run; "compared" is the median
of the ratios (or differences) of neighbors, "took" the median time of one call.

Operators are those of tiny tensors, on cuda:1: the worst of each family, and the worst of torch's own list (op_db).
What is compared there is what each dispatched kernel adds; `python benchmarks/operators.py` prints every operator.
"""


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def conditions() -> list[str]:
    from importlib.metadata import version

    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "accelerate"))
    found = [
        f"{processor()}, {cores} cores; Python {platform.python_version()}, {libraries}; {THREADS} thread",
        f"load average {load:.1f} at the start",
    ]
    if load > cores / 2:
        found.append("the machine was busy with other work: the figures are rough")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the benchmarks, side by side with plain CPU.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--write", action="store_true", help="write docs/reference/benchmarks.md as well; of the named "
                        "ones, their rows alone")  # fmt: skip
    options = parser.parse_args()
    for name in options.names:
        if name not in NAMES:
            parser.error(f"expected {', '.join(NAMES)}, got {name!r}")
    notes = conditions()
    rows: list[table.Row] = []
    for name in options.names or NAMES:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            found = importlib.import_module(name).measure()
        except WorkerError as error:
            found = f"{name}: failed; {error}"
        if isinstance(found, str):
            notes.append(found)
        else:
            rows += found
    print(table.as_text(rows))
    print("\n".join(f"- {note}" for note in notes))
    if options.write and options.names:
        told = "; ".join([f"{', '.join(options.names)}, measured later", *notes])
        PAGE.write_text(table.merged(PAGE.read_text(encoding="utf-8"), rows, [told]), encoding="utf-8")
    elif options.write:
        text = "\n".join([INTRODUCTION, table.as_markdown(rows), "", *(f"- {note}" for note in notes), ""])
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(text, encoding="utf-8")
    return 1 if any("failed;" in note for note in notes) else 0


if __name__ == "__main__":
    sys.exit(main())
