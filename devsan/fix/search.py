"""Tries candidates until the job runs to its end with the right numbers.

NOTE [Rounds] The job runs once with the policy "warn": that shows all places, and computes what one device would
compute, which is the reference (``reference_run``). Then candidates run, one each. One that ends the job with the
reference's numbers is verified. One after which the job fails elsewhere may be the first of several. Where the
reference shows that other place too, the change has done its part, and the next round begins from it at once; otherwise
it waits until nothing else is left. A candidate whose numbers differ is rejected, however well it runs. Where the fault
is in a library, its users need a change of their own files and its authors a patch, so that both are looked for, one
after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from devsan.errors import DevsanError
from devsan.fix.candidates import KINDS, PATCH, candidates
from devsan.fix.change import Change, applied
from devsan.fix.experiment import Laboratory, Outcome
from devsan.fix.failure import Failure
from devsan.fix.reference_run import Reference, find_reference
from devsan.numbers.comparison import Comparison

MOST_ROUNDS = 10
MOST_TRIALS = 32

_MOST_VISITS = 3  # of one place: a call of three operands may need two moves

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

    @property
    def is_patch(self) -> bool:
        """Returns whether it changes a library, which is for the library's authors to do."""
        return any(change.kind == PATCH for change in self.changes)


@dataclass
class Search:
    """What was tried for a job, and what came of it.

    Attributes:
        first: the run as it is, under the policy "warn".
        failing: the run as it is, as on GPUs; None where ``first`` shows all.
        reference: what the numbers of candidates are compared with.
        trials: in their order.
        untried: what was left of the candidates when a fix was verified.
        seconds: that it took.
    """

    first: Outcome | None = None
    failing: Outcome | None = None
    reference: Reference | None = None
    trials: list[Trial] = field(default_factory=list)
    untried: list[Change] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def verified(self) -> list[Trial]:
        """Returns the verified fixes, the best first."""
        return sorted((trial for trial in self.trials if trial.status == "verified"), key=_cost)

    @property
    def experiments(self) -> int:
        """Returns how often the program ran."""
        alone = sum(run is not None for run in (self.first, self.failing))
        return alone + sum(trial.outcome is not None for trial in self.trials)

    @property
    def patch(self) -> Trial | None:
        """Returns the best verified patch of a library, where the user's files have a verified fix, too."""
        patches = [trial for trial in self.verified if trial.is_patch]
        return patches[0] if patches and patches[0] is not self.verified[0] else None


def _cost(trial: Trial) -> tuple[bool, int, int, int]:
    kinds = max(KINDS.index(change.kind) if change.kind in KINDS else len(KINDS) for change in trial.changes)
    transferred = trial.outcome.transferred if trial.outcome is not None else 0
    return (trial.is_patch, len(trial.changes), kinds, transferred)


def search(
    laboratory: Laboratory,
    told: Callable[[str, int, int], None],
    all_of_them: bool = False,
    most_rounds: int = MOST_ROUNDS,
) -> Search:
    """Tries what could be changed.

    Args:
        laboratory: of the job.
        told: called before each experiment with what is tried, its number and how many there are in this round.
        all_of_them: go on after the first verified fix, to find the best.
        most_rounds: how many failures are followed, one behind the other.
    """
    found = Search()
    found.reference = find_reference(laboratory, told)
    found.first = found.reference.first
    laboratory.seconds = min(laboratory.seconds, 60 + 10 * found.first.seconds)
    failing = found.first
    if not found.first.ended or not any(finding["operands"] for finding in found.first.findings):
        told("failure", 0, 0)
        failing = found.failing = found.reference.failing()
    if failing.findings:
        explore = _Exploration(laboratory, found, told, all_of_them, most_rounds)
        explore.from_failure(failing, [kind for kind in KINDS if kind != PATCH])
        if _failure((), failing).in_library or not found.verified:
            explore.from_failure(failing, [PATCH])
    return found


@dataclass
class _Round:
    """A failure, and what is left to try for it.

    Attributes:
        changes: after which the job fails so.
        failing: that run.
        offered: the candidates.
        places: the failures that led here, by their ids.
        next: number of the candidate to try next.
    """

    changes: tuple[Change, ...]
    failing: Outcome
    offered: list[Change]
    places: frozenset[str]
    next: int = 0


@dataclass
class _Exploration:
    """Tries the candidates of failures; see NOTE [Rounds]."""

    laboratory: Laboratory
    found: Search
    told: Callable[[str, int, int], None]
    all_of_them: bool
    most_rounds: int

    def from_failure(self, failing: Outcome, kinds: Sequence[str]) -> None:
        """Tries changes of these kinds until one is verified."""
        assert self.found.first is not None
        known = self.found.first.sites
        rounds = [self._round((), failing, kinds, frozenset())]
        elsewhere: list[_Round] = []
        entered = {failing.identity}
        visits: Counter[frozenset[tuple[str, str, str]]] = Counter()
        for _ in range(MOST_TRIALS):
            while rounds and rounds[-1].next >= len(rounds[-1].offered):
                rounds.pop()
                if not rounds and elsewhere and self._is_open():
                    rounds.append(elsewhere.pop(0))
            if not rounds:
                return
            trial = self._next_trial(rounds[-1])
            if trial.status == "verified" and not self.all_of_them:
                self.found.untried += rounds[-1].offered[rounds[-1].next :]
                self._shorten(trial.changes)
                return
            place = trial.outcome.identity if trial.outcome is not None else ""
            if trial.status == "other" and place not in entered and len(trial.changes) < self.most_rounds:
                entered.add(place)
                assert trial.outcome is not None
                visits[frozenset(trial.outcome.sites)] += 1
                if visits[frozenset(trial.outcome.sites)] > _MOST_VISITS:
                    continue
                deeper = self._round(trial.changes, trial.outcome, kinds, rounds[-1].places)
                next_one = not self.found.first.ended or bool(trial.outcome.sites & known)
                (rounds if next_one else elsewhere).append(deeper)

    def _shorten(self, changes: tuple[Change, ...]) -> None:
        """Leaves out what a verified fix does not need: a move that did nothing, on the way to the one that did."""
        assert self.found.reference is not None
        for number in range(len(changes) - 1):
            fewer = (*changes[:number], *changes[number + 1 :])
            trial = try_changes(self.laboratory, self.found.reference, fewer, fresh=True)
            if trial.status == "verified":
                self.found.trials.append(trial)
                self._shorten(fewer)
                return

    def _is_open(self) -> bool:
        return not any(trial.status in _ENDED for trial in self.found.trials)

    def _round(
        self, changes: tuple[Change, ...], failing: Outcome, kinds: Sequence[str], places: frozenset[str]
    ) -> _Round:
        offered = [change for change in candidates(_failure(changes, failing)) if change.kind in kinds]
        return _Round(changes, failing, offered, places | {failing.identity, failing.place_of(changes)})

    def _next_trial(self, round: _Round) -> Trial:
        change = round.offered[round.next]
        round.next += 1
        self.told(change.text, round.next, len(round.offered))
        assert self.found.reference is not None
        changes = (*round.changes, change)
        trial = try_changes(self.laboratory, self.found.reference, changes, round.places)
        if trial.status == "verified" and not self.laboratory.job.is_command:  # a command never was a fork
            trial = try_changes(self.laboratory, self.found.reference, changes, round.places, fresh=True)
        self.found.trials.append(trial)
        return trial


def try_changes(
    laboratory: Laboratory, reference: Reference, changes: tuple[Change, ...], seen: Collection[str] = (),
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
        outcome = laboratory.run(applied(changes), fresh=fresh)
    except DevsanError:
        return Trial(changes, None, None, "failed")
    if not outcome.ended:
        if not outcome.findings:
            return Trial(changes, outcome, None, "failed")
        known = outcome.identity in seen or outcome.place_of(changes) in seen
        return Trial(changes, outcome, None, "same" if known else "other")
    comparison = reference.judge(outcome, lambda: laboratory.run(applied(changes), fresh=fresh, calls=True))
    if comparison.impossible:
        return Trial(changes, outcome, comparison, "unverified")
    return Trial(changes, outcome, comparison, "verified" if comparison.equal else "rejected")


def _failure(changes: Sequence[Change], outcome: Outcome) -> Failure:
    """The first failure of a run, with the models as they were then."""
    first, *others = outcome.findings
    models = [model for model in outcome.models if model["finding"] == first["id"]]
    return Failure(first, models or outcome.models, others, applied(changes))
