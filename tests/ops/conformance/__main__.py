from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import time
from pathlib import Path

from .kinds import KINDS
from .known import Known, read
from .report import Report, Totals
from .samples import Subject, drawn, subjects
from .workers import judge_all

ORDER = [*(kind.name for kind in KINDS), "errors", "samples", "process"]


def selected(found: list[Subject], only: list[str], share: float, seed: int) -> list[int]:
    """The numbers of the subjects that are to be tried."""
    wanted = [one for one in found if not only or any(fnmatch.fnmatchcase(str(one), pattern) for pattern in only)]
    if share < 1:
        wanted = drawn(wanted, share, seed)
    numbers = {str(one): number for number, one in enumerate(found)}
    return [numbers[str(one)] for one in wanted]


def slowest_first(wanted: list[int], found: list[Subject]) -> list[int]:
    """Networks and complex types take longest: last they would leave a core idle."""
    return sorted(wanted, key=lambda i: (found[i].database != "module_db", "complex" not in str(found[i].dtype)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make ops", description="compares torch's operators with the CPU's results")
    parser.add_argument("only", nargs="*", help="patterns of database/operator/type (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--share", type=float, default=1, help="the share of subjects that are tried, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=1, help="a factor on the number of samples of each kind")
    parser.add_argument("--show", type=int, default=50, help="how many failing samples are printed")
    parser.add_argument("--write", type=Path, help="a page whose table is replaced by this run's")
    parser.add_argument("--json", type=Path, help="a file for what fails")
    return parser.parse_args()


def main() -> int:
    options = parse()
    found = subjects()
    wanted = slowest_first(selected(found, options.only, options.share, options.seed), found)
    totals, reports, start = Totals(Known(read())), list[Report](), time.monotonic()
    for report in judge_all(wanted, [str(one) for one in found], options.limit, options.jobs):
        totals.add(report)
        reports.append(report)
        if len(reports) % 500 == 0:
            done = f"{len(reports)} of {len(wanted)} after {time.monotonic() - start:.0f} s"
            print(f"{done}, {sum(totals.failing.values())} samples failing", file=sys.stderr, flush=True)
    whole = not options.only and options.share == 1 and options.limit >= 1
    stale = totals.known.stale(whole)
    print(totals.table(ORDER))
    print(f"\n{totals.summary()}; {time.monotonic() - start:.0f} s on {options.jobs} processes")
    for line in totals.failures[: options.show]:
        print(f"failing: {line}")
    for line in stale:
        print(f"known.toml, to take out: {line}")
    if options.json:
        options.json.write_text(
            json.dumps([[r.subject, r.seconds, r.failing, sum(r.agreeing.values())] for r in reports])
        )
    if options.write and whole:
        write(options.write, totals)
    return 1 if totals.failures or stale else 0


def write(page: Path, totals: Totals) -> None:
    head, _, _ = page.read_text(encoding="utf-8").partition("| check | samples |")
    page.write_text(f"{head}{totals.table(ORDER)}\n\n{totals.summary()}.\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
