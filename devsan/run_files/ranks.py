"""Several processes on one page: what is the same in some of them is told once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.diagnostics.diagnostic import SEVERITIES
from devsan.diagnostics.messages import Message, message, plural
from devsan.run_files.jobs import launches_of


@dataclass(frozen=True)
class Shared:
    """A finding, and the ranks that have it; the one of the lowest rank is shown."""

    finding: Mapping[str, Any]
    ranks: tuple[int, ...]


def findings_of(runs: Sequence[Mapping[str, Any]]) -> list[Shared]:
    """Returns the findings of all ``runs``, each once: those of a job as it was diagnosed, then the worst first, by
    rank and time.

    Two ranks have the same finding when code and cause agree, or, where no cause is known, the failing operation.
    """
    found: dict[object, tuple[Mapping[str, Any], list[int]]] = {}
    told: list[Shared] = []
    alone: list[Mapping[str, Any]] = []
    for launch in launches_of(runs):
        if launch.job is None:
            alone += launch.runs
        else:
            told += [Shared(finding, tuple(finding["ranks"])) for finding in launch.findings]
    for run in alone:
        rank = int(run["process"]["rank"])
        for finding in run["findings"]:
            key = (finding["code"], finding["cause"] or finding["id"])
            ranks = found.setdefault(key, (finding, []))[1]
            if rank not in ranks:
                ranks.append(rank)
    shared = [Shared(finding, tuple(sorted(ranks))) for finding, ranks in found.values()]
    return told + sorted(shared, key=lambda each: SEVERITIES[each.finding["severity"]])


@dataclass(frozen=True)
class Ended:
    """Ranks that ended alike, and the run of the first of them."""

    ranks: tuple[int, ...]
    run: Mapping[str, Any]


def ends_of(runs: Sequence[Mapping[str, Any]]) -> list[Ended]:
    """Returns how the ranks ended, those that ended alike together."""
    found: dict[object, tuple[list[int], Mapping[str, Any]]] = {}
    for run in runs:
        end = run["end"]
        exception = end["exception"] if end is not None else None
        key = end and (end["how"], end["exit_code"], exception and (exception["type"], exception["message"]))
        found.setdefault(key, ([], run))[0].append(int(run["process"]["rank"]))
    return [Ended(tuple(ranks), run) for ranks, run in found.values()]


def unfinished(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns the runs that did not simply come to their end: failed, interrupted, killed, or still running."""
    return [run for run in runs if run["end"] is None or run["end"]["how"] != "finished" or run["end"]["exit_code"]]


def ranks_text(ranks: Sequence[int]) -> Message:
    """Returns "rank 3", "ranks 0 and 1" or "ranks 0, 2-5"."""
    numbers = listed(ranks).replace("\N{EN DASH}", "-")
    if len(ranks) == 2:
        numbers = message("{first} and {last}", first=min(ranks), last=max(ranks))
    return plural("rank {numbers}", "ranks {numbers}", len(ranks), numbers=numbers)


def sample_text(ranks: Sequence[int], world_size: int) -> Message:
    """Returns "ranks 0 and 511 of 512"."""
    return message("{ranks} of {count}", ranks=ranks_text(ranks), count=world_size)


def listed(ranks: Iterable[int]) -> str:
    """Returns ranks as people write them: "0", "1-7", "0, 2, 4-7"."""
    spans: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ", ".join(str(first) if first == last else f"{first}\N{EN DASH}{last}" for first, last in spans)
