"""The jobs among recorded runs: the ranks of one launch have one diagnosis, which each of their run files holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Plain = dict[str, Any]
Run = Mapping[str, Any]

# How a rank ended (devsan/job/outcome.py), as the end of a run has it.
_HOW = {"failed": "exception", "peer_failed": "exception", "running": ""}


@dataclass(frozen=True)
class Launch:
    """The runs of one job; or a single run, whose ``job`` is None."""

    job: Mapping[str, Any] | None
    runs: tuple[Run, ...]

    @property
    def command(self) -> Sequence[str]:
        """Returns the words that were typed."""
        words: Sequence[str] = (self.job or self.runs[0]["process"])["command"]
        return words

    @property
    def findings(self) -> Sequence[Run]:
        """Returns the findings of the job, or those of the single run."""
        found: Sequence[Run] = (self.job or self.runs[0])["findings"]
        return found


def launches_of(runs: Sequence[Run]) -> list[Launch]:
    """Returns ``runs`` by job, in the order in which they come; a run of no job stands for itself."""
    jobs: dict[object, list[Run]] = {}
    for number, run in enumerate(runs):
        job = run.get("job")
        jobs.setdefault(number if job is None else job["id"], []).append(run)
    return [Launch(each[-1].get("job"), tuple(each)) for each in jobs.values()]


def end_of(rank: Mapping[str, Any], start: str) -> Plain | None:
    """Returns how a run ended whose own file does not say it, by what its job knows; None where it still ran.

    Args:
        rank: of the diagnosis of a job.
        start: of the run.
    """
    how = _HOW.get(rank["how"], rank["how"])
    if not how:
        return None
    began = datetime.fromisoformat(start.replace("Z", "+00:00")).timestamp()
    exception = {"type": rank["type"], "message": rank["message"]} if rank["type"] else None
    return {
        "time": max(0.0, round((rank["time"] or began) - began, 6)), "how": how, "exit_code": rank["code"],
        "exception": exception, "signal": rank["signal"],
    }  # fmt: skip
