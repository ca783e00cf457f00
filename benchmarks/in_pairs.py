"""Times a work on the CPU and on an emulated GPU in one process, in turns, and takes the difference of neighbors.

The difference is a fraction of what a busy machine's other work adds to a batch. A batch is therefore short, so that
most are left alone, there are many of them, and what counts is the median of the differences.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Work = Callable[[], Any]

BATCH_SECONDS = 150e-6
WARM_UP = 10


@dataclass(frozen=True)
class Cost:
    """What an operator took, in seconds, on the CPU and emulated, and what was added."""

    cpu: float
    emulated: float
    added: float
    added_p90: float


def seconds(work: Work, calls: int) -> float:
    """Returns the time of one call, averaged over a batch."""
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - begin) / calls


def compare(cpu: Work, emulated: Work, rounds: int) -> Cost:
    """Times both in turns; who comes first alternates."""
    for work in (cpu, emulated):
        seconds(work, WARM_UP)
    calls = max(1, int(BATCH_SECONDS / seconds(cpu, WARM_UP)))
    pairs = []
    for turn in range(rounds):
        if turn % 2:
            base = seconds(cpu, calls)
            pairs.append((base, seconds(emulated, calls)))
        else:
            own = seconds(emulated, calls)
            pairs.append((seconds(cpu, calls), own))
    added = sorted(own - base for base, own in pairs)
    return Cost(
        cpu=statistics.median(base for base, _ in pairs),
        emulated=statistics.median(own for _, own in pairs),
        added=statistics.median(added),
        added_p90=added[int(0.9 * (len(added) - 1))],
    )
