"""`python -m dtypes` runs the sweep (`make ops` and `tools/ops.sh dtypes`)."""

from __future__ import annotations

import argparse
import fnmatch
import os
import random
import sys
import time
from collections import Counter

from .known import Known, read
from .processes import Processes


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/ops.sh dtypes", description=__doc__)
    parser.add_argument("only", nargs="*", help="patterns of operators (default: all)")
    parser.add_argument("--profile", default="h100-80g", help="the GPU (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--share", type=float, default=1, help="the share of operators that are tried, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def chosen(names: list[str], options: argparse.Namespace) -> list[int]:
    wanted = [i for i, name in enumerate(names) if any(fnmatch.fnmatchcase(name, p) for p in options.only or ["*"])]
    if options.share < 1:
        wanted = random.Random(options.seed).sample(wanted, max(1, round(len(wanted) * options.share)))
    return wanted


def main() -> int:
    options, begun = parse(), time.monotonic()
    known, counts, unexplained = Known(read()), Counter[str](), list[str]()
    with Processes(options.jobs, options.profile) as processes:
        wanted = chosen(processes.operators(), options)
        for found in processes.answers(wanted):
            for answer in found:
                kind = "backward" if answer.backward else "forward"
                if answer.speaks_of_host:
                    counts[f"{kind}: refused in the CPU's words"] += 1
                    unexplained.append(str(answer))
                elif answer.runs == answer.listed:
                    counts[f"{kind}: both {'run' if answer.runs else 'refuse'}"] += 1
                elif answer.doubt:
                    counts[f"{kind}: {answer.doubt}"] += 1
                elif known.explains(answer.operator, answer.dtype, answer.backward, answer.runs):
                    counts[f"{kind}: known, in known.toml"] += 1
                else:
                    counts[f"{kind}: {'runs, not listed' if answer.runs else 'refused, listed'}"] += 1
                    unexplained.append(str(answer))
    whole = not options.only and options.share == 1
    stale = known.stale() if whole else []
    print(f"dtypes of {len(wanted)} operators on {options.profile}, beside torch's lists for CUDA:")
    for kind, count in sorted(counts.items()):
        print(f"  {count:6,}  {kind}")
    print(f"{len(unexplained)} unexplained; {time.monotonic() - begun:.0f} s on {options.jobs} processes")
    for line in sorted(unexplained):
        print(f"unexplained: {line}")
    for line in stale:
        print(f"known.toml, to take out: {line}")
    return 1 if unexplained or stale else 0


if __name__ == "__main__":
    sys.exit(main())
