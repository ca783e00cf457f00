"""The rehearsals that run now: the processes that have announced themselves, by the job that they belong to."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from devsan.job import folder as job
from devsan.running import end, folder, gauges
from devsan.running.gauges import Memory
from devsan.running.processes import families, resident, seconds_since


@dataclass(frozen=True)
class Process:
    """A process with emulated GPUs.

    Attributes:
        pid: its id.
        rank: in its launch; None where it is no rank.
        resident: bytes of this machine's memory.
        steps: how many its optimizers have made; None where nobody knows.
        per_minute: steps a minute; None before the second.
        last: with how many steps it is expected to end; None where nobody knows.
        of_pass: whether that is the end of a pass through the data alone.
        seconds_left: until then, at this rate.
    """

    pid: int
    rank: int | None
    resident: int
    steps: int | None
    per_minute: float | None = None
    last: int | None = None
    of_pass: bool = False
    seconds_left: float | None = None


@dataclass(frozen=True)
class Holder:
    """A process that holds memory of a GPU.

    Attributes:
        pid: its id.
        rank: in its launch; None where it is no rank.
        memory: what it holds.
    """

    pid: int
    rank: int | None
    memory: Memory


@dataclass(frozen=True)
class Gpu:
    """An emulated GPU.

    Attributes:
        node: of the emulated machine that it is in.
        index: its number there, whatever the processes call it.
        name: of its model.
        profile: by which it is emulated.
        total: its memory in bytes, the budget.
        busy: bytes that other programs are said to use (``--used-memory``).
        holders: the processes that hold memory of it, by rank.
    """

    node: int
    index: int
    name: str
    profile: str
    total: int
    busy: int
    holders: tuple[Holder, ...]

    @property
    def memory(self) -> Memory:
        """What all processes hold together."""
        held = [holder.memory for holder in self.holders]
        return Memory(sum(each.allocated for each in held), sum(each.reserved for each in held),
                      sum(each.used for each in held))  # fmt: skip


@dataclass(frozen=True)
class Rehearsal:
    """What somebody started.

    Attributes:
        pid: of the process that was started: the owner of the job, or the program alone.
        command: the words, as they were typed.
        seconds: for how long it has been running.
        resident: bytes of this machine's memory that its processes have, with all that they have started.
        processes: those with emulated GPUs, by rank.
        gpus: of its machines.
    """

    pid: int
    command: tuple[str, ...]
    seconds: float
    resident: int
    processes: tuple[Process, ...]
    gpus: tuple[Gpu, ...]

    def as_plain(self) -> dict[str, Any]:
        """Returns it as JSON has it; of each GPU also what all processes hold together."""
        plain = asdict(self)
        for gpu, each in zip(self.gpus, plain["gpus"], strict=True):
            each["memory"] = asdict(gpu.memory)
        return plain


@dataclass(frozen=True)
class _Announced:
    """What a process says of itself, and what it shows."""

    job: str
    pid: int
    start: int
    said: dict[str, Any]
    shown: gauges.Gauges | None
    end: end.End | None


def running() -> list[Rehearsal]:
    """Returns the rehearsals of this user that run on this machine, in the order in which they were started."""
    jobs: dict[object, list[_Announced]] = {}
    for of_job, path in folder.announcements():
        announced = _read(of_job, path)
        if announced is not None:
            jobs.setdefault(of_job or announced.pid, []).append(announced)
    heads = [_head(members) for members in jobs.values()]
    everybody = families([[pid, *(each.pid for each in members)]
                          for (pid, _), members in zip(heads, jobs.values(), strict=True)])  # fmt: skip
    found = [
        _rehearsal(*head, members, sum(map(resident, family)))
        for head, members, family in zip(heads, jobs.values(), everybody, strict=True)
    ]
    return sorted(found, key=lambda each: -each.seconds)


def _read(of_job: str, path: str) -> _Announced | None:
    """None for a process that has ended meanwhile, and for what no DevSan of this version has written."""
    stem = path.removesuffix(folder.ANNOUNCEMENT)
    pid, start = map(int, os.path.basename(stem).split("-"))
    try:
        with open(path, encoding="ascii") as file:
            said = json.load(file)
        for name in ("command", "rank", "node", "visible", "gpus"):
            said[name]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return _Announced(of_job, pid, start, said, gauges.read(stem + folder.GAUGES), end.read(stem + folder.PROGRESS))


def _head(members: Sequence[_Announced]) -> tuple[int, int]:
    """The process that was started, and when."""
    owner = job.owner_of(members[0].job) if members[0].job else None
    if owner is not None and job.is_alive(*owner):
        return owner
    first = min(members, key=lambda each: each.start)
    return first.pid, first.start


def _rehearsal(pid: int, start: int, members: Sequence[_Announced], taken: int) -> Rehearsal:
    of_job = members[0].job
    ranks = job.ranks(of_job) if of_job else {}
    numbered = [(ranks.get(each.pid, each.said["rank"]), each) for each in members]
    numbered.sort(key=lambda pair: (pair[0] is None, pair[0] or 0, pair[1].pid))
    words = (job.command_of(of_job) if of_job else []) or members[0].said["command"]
    processes = tuple(_process(each, rank) for rank, each in numbered)
    return Rehearsal(pid, tuple(words), seconds_since(start), taken, processes, tuple(_gpus(numbered)))


def _process(each: _Announced, rank: int | None) -> Process:
    here, shown, last = resident(each.pid), each.shown, each.end
    if shown is None or last is None or shown.per_minute is None:
        return Process(each.pid, rank, here, *((None, None) if shown is None else (shown.steps, shown.per_minute)))
    left = max(0, last.steps - shown.steps) * 60 / shown.per_minute
    return Process(each.pid, rank, here, shown.steps, shown.per_minute, last.steps, last.of_pass, left)


def _gpus(numbered: Sequence[tuple[int | None, _Announced]]) -> list[Gpu]:
    """The GPUs of all machines, each with those that hold it: processes have their own numbers for them."""
    known: dict[tuple[int, int], dict[str, Any]] = {}
    holders: dict[tuple[int, int], list[Holder]] = {}
    for rank, each in numbered:
        node = each.said["node"]
        for index, gpu in enumerate(each.said["gpus"]):
            known.setdefault((node, index), gpu)
        for own, index in enumerate(each.said["visible"]):
            memory = each.shown.gpus[own] if each.shown is not None else Memory(0, 0, 0)
            if memory.used:
                holders.setdefault((node, index), []).append(Holder(each.pid, rank, memory))
    return [
        Gpu(node, index, gpu["name"], gpu["profile"], gpu["memory"], gpu["used_memory"],
            tuple(holders.get((node, index), ())))
        for (node, index), gpu in sorted(known.items())
    ]  # fmt: skip
