"""Look for a fix of each of the regressions, count what is verified, and write the list of the others.

    tools/fix_regressions.py                      all cases, 15 to 30 minutes on two cores
    tools/fix_regressions.py yolor_113 pick_14    these
    tools/fix_regressions.py --bless              all cases; writes tests/fix/open_regressions.json
    tools/fix_regressions.py --output found.json  what was tried for each case, too

tests/fix/test_regressions_fixed.py fails where a case that is not in that list is no longer verified.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "fix"))

from regression_search import CASES, reason_of, search_fix, status_of  # noqa: E402

OPEN = ROOT / "tests" / "fix" / "open_regressions.json"


def found_for(case: Path) -> dict[str, Any]:
    """Returns what a search came to, as JSON has it."""
    start = time.monotonic()
    try:
        found = search_fix(case)
    except Exception:
        return {"case": case.stem, "status": "crash", "reason": "the search fails", "error": traceback.format_exc()}
    trials = [
        {"status": trial.status, "changes": [str(change.text) for change in trial.changes],
         "why": str(trial.comparison.difference or trial.comparison.impossible) if trial.comparison else "",
         "error": trial.outcome.error if trial.outcome else ""}
        for trial in found.trials
    ]  # fmt: skip
    first = found.first
    seen = [f"{each['code']} {each['kind']} {each['op']}" for each in first.findings] if first else []
    return {
        "case": case.stem, "status": status_of(found), "reason": "" if found.verified else reason_of(found),
        "seconds": round(time.monotonic() - start, 1), "ended": bool(first and first.ended),
        "error": first.error if first else "", "findings": seen, "trials": trials,
    }  # fmt: skip


def main() -> int:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="names of cases; all without one")
    parser.add_argument("--bless", action="store_true", help=f"write {OPEN.relative_to(ROOT)}")
    parser.add_argument("--output", type=Path, help="a file for what was tried")
    parser.add_argument("--jobs", type=int, default=1, help="how many cases at once")
    given = parser.parse_args()
    if given.bless and given.cases:
        parser.error("--bless needs all cases")
    chosen = [case for case in CASES if not given.cases or case.stem in given.cases]
    rows: list[dict[str, Any]] = []
    with concurrent.futures.ProcessPoolExecutor(given.jobs) as pool:
        for row in pool.map(found_for, chosen):
            rows.append(row)
            print(f"{row['status']:10} {row['case']}  {row['reason']}", flush=True)
            if given.output:
                given.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    counts = Counter(row["status"] for row in rows)
    print(", ".join(f"{count} {status}" for status, count in counts.most_common()),
          f"of {len(rows)}: {counts['verified'] / max(1, len(rows)):.0%} verified")  # fmt: skip
    if given.bless:
        listed: dict[str, list[str]] = {}
        for row in rows:
            if row["status"] != "verified":
                listed.setdefault(row["reason"], []).append(row["case"])
        OPEN.write_text(json.dumps(dict(sorted(listed.items())), indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
