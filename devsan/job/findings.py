"""What the ranks of a job found, each thing once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from devsan.errors import one_line, tell
from devsan.job.ranks import compare
from devsan.run_files.ranks import findings_of, ranks_text

Document = Mapping[str, Any]
Plain = dict[str, Any]


def of_job(documents: Sequence[Document], recordings: Sequence[Mapping[str, Any]]) -> list[Plain]:
    """Returns the findings about a job, the first cause first, each with its "ranks".

    Imports torch, for the core that compares the ranks with each other. Where that is not there, or fails, what the
    ranks found by themselves is joined.

    Args:
        documents: of the ranks, each with the field "exit".
        recordings: in which collective each process is or was.
    """
    found: list[Plain] | None = None
    try:
        found = compare.of_job(documents, recordings)
    except Exception as error:
        tell(f"the ranks are not compared with each other: {one_line(error)}")
    # What a rank says that the ranks together account for otherwise is not told again.
    return found or joined(documents)


def joined(documents: Sequence[Document]) -> list[Plain]:
    """Returns what the ranks found by themselves: the same in several ranks is one finding."""
    found = []
    for shared in findings_of(documents):
        finding: Plain = {**shared.finding, "ranks": list(shared.ranks), "victims": [], "count": 1}
        if len(documents) > 1:
            finding["rank"] = ranks_text(shared.ranks)
        found.append(finding)
    return found
