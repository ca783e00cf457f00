"""What a job's ranks show together.

``of_job`` runs where the job was launched, hands the facts of all ranks to the core (core/diagnose/ranks) and returns
findings as a run's document has them (docs/reference/run-file.md), each with the ranks that it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from devsan import core
from devsan.core_library import core_with_torch
from devsan.job.ranks.facts import completed, rank_facts
from devsan.job.ranks.flight_recorder import by_rank
from devsan.job.ranks.report import finding_of

Plain = dict[str, Any]


def of_job(documents: Sequence[Mapping[str, Any]], recordings: Sequence[Mapping[str, Any]] = ()) -> list[Plain]:
    """Returns what is wrong with a job, the first cause first.

    Args:
        documents: one a rank: "rank", "facts" (of ``collect``; may be missing), "findings" (its own, as in a run's
            document) and "exit" ("code", "signal", "time", "by_launcher"), as far as they are known.
        recordings: one a process: what it did last in each process group (``devsan.job.ranks.flight_recorder``).

    Returns:
        Findings as in a run's document, each with "ranks", "ranks_text", "victims" (a line each) and "of": the rank and
        the number of its own finding that this one is, or None.
    """
    if core_with_torch() is None or not documents:
        return []
    latest: dict[int, Mapping[str, Any]] = {}
    for document in documents:
        latest[_rank_of(document)] = document
    latest = completed(latest)
    calls = by_rank(recordings)
    facts = [rank_facts(latest.get(rank, {"rank": rank}), calls.get(rank, []))
             for rank in sorted({*latest, *calls})]  # fmt: skip
    own = {rank: list(document.get("findings") or ()) for rank, document in latest.items()}
    return [finding_of(found, own) for found in core.diagnose_ranks(facts)]


def _rank_of(document: Mapping[str, Any]) -> int:
    given = document.get("rank")
    if given is None:
        given = ((document.get("facts") or {}).get("process") or {}).get("rank")
    return int(given or 0)
