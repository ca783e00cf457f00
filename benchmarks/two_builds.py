"""What a change of the core costs an operator: two builds of DevSan, in turns: ``two_builds.py PYTHON [ROUNDS]``.

PYTHON is the interpreter of an environment with the other build, that before the change. Each build has a process of
its own, and batches of one follow those of the other; see measure.py. Not among those of run.py, because it needs two
environments.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack

from measure import Contender, Worker, in_turns

WORKS = ("add cuda", "mm cuda", "add cpu")
ROUNDS = 201


def main(arguments: list[str]) -> int:
    if not arguments:
        print("usage: two_builds.py PYTHON [ROUNDS]", file=sys.stderr)
        return 2
    python, rounds = arguments[0], int(arguments[1]) if len(arguments) > 1 else ROUNDS
    with ExitStack() as stack:
        before = stack.enter_context(Worker("devsan", python))
        now = stack.enter_context(Worker("devsan"))
        for work in WORKS:
            (result,) = in_turns(Contender("before", before, work), [Contender("now", now, work)], rounds)
            added = (result.ratio - 1) * result.baseline_seconds
            print(
                f"{work:10}{result.baseline_seconds * 1e9:8.0f} ns before{result.seconds * 1e9:8.0f} ns now"
                f"{added * 1e9:+8.1f} ns by the median of ratios"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
