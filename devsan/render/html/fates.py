"""The strip of ranks at the head of the page: which failed, which waited for others and where, which were ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from devsan.run_files.jobs import Launch

_CAUSES = ("failed", "killed", "exited", "vanished")
_CONSEQUENCES = ("peer_failed", "terminated", "interrupted", "running")


@dataclass(frozen=True)
class Fates:
    """Ranks that ended alike.

    Attributes:
        sort: "cause" of a rank that ended badly by itself, "consequence" of one that ended or hangs because of others,
            "good" of one that finished.
        how: as the diagnosis of a job has it.
        signal: that killed them.
        code: their exit code, where that is what is known.
        place: the line where they were: "train.py:12".
        waited_in: the collective that they had entered and not left.
        ranks: their numbers.
    """

    sort: str
    how: str
    signal: str
    code: int | None
    place: str
    waited_in: str
    ranks: tuple[int, ...]


def fates_of(launch: Launch) -> list[Fates]:
    """Returns how the ranks of a job ended, causes first; none for a single run."""
    found: dict[Fates, list[int]] = {}
    for rank in launch.job["ranks"] if launch.job is not None else ():
        found.setdefault(_fate_of(rank), []).append(int(rank["rank"]))
    groups = [replace(fate, ranks=tuple(sorted(ranks))) for fate, ranks in found.items()]
    order = ("cause", "consequence", "good")
    return sorted(groups, key=lambda group: (order.index(group.sort), group.ranks))


@dataclass(frozen=True)
class Cell:
    """One rank in the strip."""

    rank: int
    sort: str


def cells_of(fates: Sequence[Fates]) -> list[Cell]:
    """Returns a cell for each rank, by rank."""
    return sorted((Cell(rank, group.sort) for group in fates for rank in group.ranks), key=lambda cell: cell.rank)


def _fate_of(rank: Mapping[str, Any]) -> Fates:
    how = str(rank["how"])
    sort = "cause" if how in _CAUSES else "consequence" if how in _CONSEQUENCES else "good"
    waited = rank.get("waited_in", "") if sort == "consequence" or how == "killed" else ""
    code = rank["code"] if how == "exited" else None
    return Fates(sort, how, rank["signal"], code, rank["place"], waited, ())
