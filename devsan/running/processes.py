"""Processes of this machine, as /proc has them: how old they are, whose children, and what memory they take."""

from __future__ import annotations

import os
from collections.abc import Iterable

from devsan.proc import stat_of


def seconds_since(start: int) -> float:
    """Returns how long ago a process started, which is known in ticks since the machine did; 0 where nobody says."""
    try:
        with open("/proc/uptime", encoding="ascii") as file:
            up = float(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0
    return max(0.0, up - start / os.sysconf("SC_CLK_TCK")) if start else 0.0


def resident(pid: int) -> int:
    """Returns the bytes of this machine's memory that a process has; those that it shares with others count in each."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def families(roots: Iterable[Iterable[int]]) -> list[set[int]]:
    """Returns each of ``roots``, groups of processes, with all that they have started and that still runs."""
    children: dict[int, list[int]] = {}
    for pid in _all():
        children.setdefault(_parent(pid), []).append(pid)
    found = []
    for group in roots:
        family: set[int] = set()
        waiting = list(group)
        while waiting:
            pid = waiting.pop()
            if pid not in family:
                family.add(pid)
                waiting += children.get(pid, ())
        found.append(family)
    return found


def _all() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _parent(pid: int) -> int:
    """Field 4 of proc_pid_stat(5); 0 of a process that has gone."""
    fields = stat_of(pid)
    return int(fields[1]) if fields else 0
