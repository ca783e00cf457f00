"""Tries candidates until the job runs to its end with the right numbers.

NOTE [Rounds] The job runs once with the policy "warn": that shows all places, and computes what one device would
compute, which is the reference (``reference_run``). Then candidates run, one each, as many at once as the laboratory
has jobs; they are looked at in their order, so that the result does not depend on how many that are. One that ends the
job with the reference's numbers is verified. One after which the job fails elsewhere may be the first of several: the
best of these is kept and the next round begins from it. A candidate whose numbers differ is rejected, however well it
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from devsan.errors import DevsanError
from devsan.fix.candidates import KINDS, candidates
from devsan.fix.change import Change, joined
from devsan.fix.experiment import Laboratory, Outcome
from devsan.fix.failure import Failure
from devsan.fix.reference_run import Reference, find_reference
from devsan.numbers.comparison import Comparison

MOST_ROUNDS = 6
MOST_TRIALS = 24


@dataclass(frozen=True)
class Trial:
    """One experiment.

    Attributes:
        changes: what was changed.
        outcome: what came of it; None where the edits did not fit.
        comparison: with the reference; None where it did not end.
        status: "verified", "unverified" (it ends, and nothing can be compared), "rejected" (other numbers), "same" (the
            same failure), "other" (another failure), "failed" (the program fails by the change itself).
    """

    changes: tuple[Change, ...]
    outcome: Outcome | None
    comparison: Comparison | None
    status: str


@dataclass
class Search:
    """What was tried for a job, and what came of it.

    Attributes:
        first: the run as it is, under the policy "warn".
        failing: the run as it is, as on GPUs; None where ``first`` shows all.
        reference: what the candidates' numbers were compared with; its ``outcome`` is None where there is nothing.
        trials: in their order.
    """

    first: Outcome | None = None
    failing: Outcome | None = None
    reference: Reference | None = None
    trials: list[Trial] = field(default_factory=list)

    @property
    def verified(self) -> list[Trial]:
        """Returns the verified fixes, the best first."""
        return sorted((trial for trial in self.trials if trial.status == "verified"), key=_cost)


def _cost(trial: Trial) -> tuple[int, int, int]:
    kinds = max(KINDS.index(change.kind) if change.kind in KINDS else len(KINDS) for change in trial.changes)
    transferred = trial.outcome.transferred if trial.outcome is not None else 0
    return (len(trial.changes), kinds, transferred)


def search(laboratory: Laboratory, told: Callable[[str, int, int], None], all_of_them: bool = False) -> Search:
    """Tries what could be changed.

    Args:
        laboratory: of the job.
        told: called before each experiment with what is tried, its number and how many there are in this round.
        all_of_them: go on after the first verified fix, to find the best.
    """
    found = Search()
    found.reference = find_reference(laboratory, told)
    found.first = found.reference.first
    laboratory.seconds = min(laboratory.seconds, 60 + 10 * found.first.seconds)
    state: tuple[Change, ...] = ()
    failing = found.first
    if not found.first.findings or not found.first.ended:
        told("failure", 0, 0)
        failing = found.failing = found.reference.failing()
    seen = {_identity(failing)}
    for _ in range(MOST_ROUNDS):
        if not failing.findings:
            break
        best: Trial | None = None
        offered = candidates(Failure(failing.findings[0]))[:MOST_TRIALS]
        for trial in _trials(laboratory, found.reference, state, offered, frozenset(seen), told):
            if trial.status == "verified":
                trial = _confirmed(laboratory, found.reference, trial)
            found.trials.append(trial)
            if trial.status == "verified" and not all_of_them:
                return found
            if trial.status == "other" and best is None:
                best = trial
        if found.verified or best is None or best.outcome is None:
            break
        state, failing = best.changes, best.outcome
        seen.add(_identity(failing))
    return found


def _trials(
    laboratory: Laboratory, reference: Reference, state: tuple[Change, ...], offered: list[Change],
    seen: frozenset[str], told: Callable[[str, int, int], None],
) -> Iterator[Trial]:  # fmt: skip
    """Tries each of ``offered`` after ``state``; yields in their order."""
    with ThreadPoolExecutor(laboratory.jobs) as pool:
        for first in range(0, len(offered), laboratory.jobs):
            running = []
            for number, change in enumerate(offered[first : first + laboratory.jobs], start=first + 1):
                told(str(change.text), number, len(offered))
                running.append(pool.submit(try_changes, laboratory, reference, (*state, change), seen))
            for trial in running:
                try:
                    yield trial.result()
                except KeyboardInterrupt:
                    laboratory.stop()  # or the pool would wait for what still runs
                    raise


def _confirmed(laboratory: Laboratory, reference: Reference, trial: Trial) -> Trial:
    """Runs a verified change once more in a process of its own (NOTE [The stage])."""
    if laboratory.job.is_command:
        return trial
    again = try_changes(laboratory, reference, trial.changes, fresh=True)
    return trial if again.status == "verified" else again


def try_changes(
    laboratory: Laboratory, reference: Reference, changes: tuple[Change, ...], seen: frozenset[str] = frozenset(),
    fresh: bool = False,
) -> Trial:  # fmt: skip
    """Runs the job with ``changes`` and says what that proves.

    Args:
        laboratory: of the job.
        reference: what the numbers are compared with.
        changes: made together.
        seen: identities of findings from which the search has come.
        fresh: as ``Laboratory.run`` takes it.
    """
    try:
        outcome = laboratory.run(joined(changes), fresh=fresh)
    except DevsanError:
        return Trial(changes, None, None, "failed")
    if not outcome.ended:
        if not outcome.findings:
            return Trial(changes, outcome, None, "failed")
        return Trial(changes, outcome, None, "same" if _identity(outcome) in seen else "other")
    comparison = reference.judge(outcome)
    if comparison.impossible:
        return Trial(changes, outcome, comparison, "unverified")
    return Trial(changes, outcome, comparison, "verified" if comparison.equal else "rejected")


def _identity(outcome: Outcome) -> str:
    return str(outcome.findings[0]["id"]) if outcome.findings else ""
