"""The runs of the candidates that come next, while the one before them is looked at.

NOTE [Runs ahead] The search looks at one candidate after the other, so that its result does not depend on which run
ends first. Those that are next in the same round run meanwhile, as many as ``Laboratory.jobs`` says: what they came to
is there when their turn comes, or was in vain.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from devsan.fix.change import Change
from devsan.fix.experiment import Laboratory, Outcome
from devsan.fix.trial import outcome_of

Changes = tuple[Change, ...]


class RunsAhead:
    """Runs changes, and others meanwhile. A context manager: what nobody asks for any more does not begin.

    Args:
        laboratory: of the job.
    """

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory = laboratory
        self._pool = ThreadPoolExecutor(laboratory.jobs)
        self._runs: dict[Changes, Future[Outcome | None]] = {}

    def __enter__(self) -> RunsAhead:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def outcome(self, changes: Changes, following: Iterable[Changes]) -> Outcome | None:
        """Returns what came of the run with ``changes``; None where they do not fit.

        Args:
            changes: made together.
            following: what comes next, if nothing else does.

        Raises:
            DevsanError: as ``Laboratory.run`` does.
        """
        for each in (changes, *list(following)[: self._laboratory.jobs - 1]):
            if each not in self._runs:
                self._runs[each] = self._pool.submit(outcome_of, self._laboratory, each)
        return self._runs.pop(changes).result()
