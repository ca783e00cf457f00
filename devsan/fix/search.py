"""Tries candidates until the job runs to its end with the right numbers.

NOTE [Rounds] The job runs once with the policy "warn": that shows all places, and computes what one device would
compute, which is the reference. Then candidates run, one each. One that ends the job with the reference's numbers is
verified. One after which the job fails elsewhere may be the first of several: the best of these is kept and the next
round begins from it. A candidate whose numbers differ is rejected, however well it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from devsan.errors import DevsanError
from devsan.fix.candidates import candidates
from devsan.fix.change import Change, joined
from devsan.fix.experiment import Laboratory, Outcome
from devsan.fix.failure import Failure
from devsan.numbers.comparison import Comparison, compare

MOST_ROUNDS = 6
MOST_TRIALS = 24

_ENDED = ("verified", "unverified")


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
        trials: in their order.
        untried: what was left when a fix was verified.
        seconds: that it took.
    """

    first: Outcome | None = None
    failing: Outcome | None = None
    trials: list[Trial] = field(default_factory=list)
    untried: list[Change] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def verified(self) -> list[Trial]:
        """Returns the verified fixes, in their order; ``account`` says which is the best."""
        return [trial for trial in self.trials if trial.status == "verified"]

    @property
    def experiments(self) -> int:
        """Returns how often the program ran."""
        alone = sum(run is not None for run in (self.first, self.failing))
        return alone + sum(trial.outcome is not None for trial in self.trials)


def search(
    laboratory: Laboratory,
    told: Callable[[str, int, int], None],
    all_of_them: bool = False,
    rounds: int = MOST_ROUNDS,
) -> Search:
    """Tries what could be changed.

    Args:
        laboratory: of the job.
        told: called before each experiment with what is tried, its number and how many there are in this round.
        all_of_them: go on after the first verified fix, to find the best.
        rounds: how many failures are followed, one behind the other.
    """
    found = Search()
    told("reference", 0, 0)
    found.first = laboratory.run(policy="warn")
    laboratory.seconds = min(laboratory.seconds, 60 + 10 * found.first.seconds)
    state: tuple[Change, ...] = ()
    failing = found.first
    if not found.first.findings or not found.first.ended:
        told("failure", 0, 0)
        failing = found.failing = laboratory.run()
    seen = {_identity(failing)}
    for _ in range(rounds):
        if not failing.findings:
            break
        best: Trial | None = None
        offered = candidates(Failure(failing.findings[0], tuple(failing.findings[1:])))[:MOST_TRIALS]
        for number, change in enumerate(offered, start=1):
            told(change.text, number, len(offered))
            trial = _tried(laboratory, (*state, change), found.first, seen)
            found.trials.append(trial)
            if trial.status == "verified" and not all_of_them:
                found.untried = offered[number:]
                return found
            if trial.status == "other" and best is None:
                best = trial
        if best is None or best.outcome is None or any(trial.status in _ENDED for trial in found.trials):
            break
        state, failing = best.changes, best.outcome
        seen.add(_identity(failing))
    return found


def _tried(laboratory: Laboratory, changes: tuple[Change, ...], reference: Outcome, seen: set[str]) -> Trial:
    try:
        outcome = laboratory.run(joined(changes))
    except DevsanError:
        return Trial(changes, None, None, "failed")
    if not outcome.ended:
        if not outcome.findings:
            return Trial(changes, outcome, None, "failed")
        return Trial(changes, outcome, None, "same" if _identity(outcome) in seen else "other")
    if not reference.ended:
        return Trial(changes, outcome, None, "unverified")
    comparison = compare(reference.numbers, outcome.numbers)
    if comparison.impossible:
        return Trial(changes, outcome, comparison, "unverified")
    return Trial(changes, outcome, comparison, "verified" if comparison.equal else "rejected")


def _identity(outcome: Outcome) -> str:
    return str(outcome.findings[0]["id"]) if outcome.findings else ""
