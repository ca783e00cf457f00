"""Follows a failure through what could be changed, and through the failures behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from devsan.fix.candidates import candidates
from devsan.fix.change import Change, applied
from devsan.fix.experiment import Laboratory, Outcome
from devsan.fix.failure import Failure
from devsan.fix.reference_run import Reference
from devsan.fix.runs_ahead import RunsAhead
from devsan.fix.trial import Trial, judged, try_changes

MOST_TRIALS = 32

_MOST_VISITS = 3  # of one place: a call of three operands may need two moves

Site = tuple[str, str, str]

_ENDED = ("verified", "unverified")


def failure_of(changes: Sequence[Change], outcome: Outcome) -> Failure:
    """Returns the first failure of a run with ``changes``, with the models as they were then."""
    first, *others = outcome.findings
    models = [model for model in outcome.models if model["finding"] == first["id"]]
    return Failure(first, models or outcome.models, others, applied(changes))


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
class Exploration:
    """Tries the candidates of failures; see NOTE [Rounds] in ``search``.

    Attributes:
        laboratory: of the job.
        reference: what the numbers are compared with.
        told: called before each experiment with what is tried, its number and how many there are in this round.
        all_of_them: go on after the first verified fix.
        most_rounds: how many failures are followed, one behind the other.
        trials: in their order.
        untried: what was left of the candidates when a fix was verified.
    """

    laboratory: Laboratory
    reference: Reference
    told: Callable[[str, int, int], None]
    all_of_them: bool
    most_rounds: int
    trials: list[Trial] = field(default_factory=list)
    untried: list[Change] = field(default_factory=list)

    def follow(self, failing: Outcome, kinds: Sequence[str], known: Collection[Site] | None) -> None:
        """Tries changes of these kinds until one is verified.

        Args:
            failing: the run that fails.
            kinds: of the changes.
            known: places that one device computes, too; None where no run showed them.
        """
        rounds = [self._round((), failing, kinds, frozenset())]
        elsewhere: list[_Round] = []
        entered = {failing.identity}
        visits: Counter[frozenset[Site]] = Counter()
        with RunsAhead(self.laboratory) as ahead:
            for _ in range(MOST_TRIALS):
                while rounds and rounds[-1].next >= len(rounds[-1].offered):
                    rounds.pop()
                    if not rounds and elsewhere and self._is_open():
                        rounds.append(elsewhere.pop(0))
                if not rounds:
                    return
                trial = self._next_trial(rounds[-1], ahead)
                if trial.status == "verified" and not self.all_of_them:
                    self.untried += rounds[-1].offered[rounds[-1].next :]
                    self._shorten(trial.changes)
                    return
                if trial.status != "other" or len(trial.changes) >= self.most_rounds:
                    continue
                assert trial.outcome is not None
                sites = frozenset(trial.outcome.sites)
                if trial.outcome.identity in entered or visits[sites] >= _MOST_VISITS:
                    continue
                entered.add(trial.outcome.identity)
                visits[sites] += 1
                deeper = self._round(trial.changes, trial.outcome, kinds, rounds[-1].places)
                (rounds if known is None or sites & set(known) else elsewhere).append(deeper)

    def _shorten(self, changes: tuple[Change, ...]) -> None:
        """Leaves out what a verified fix does not need: a move that did nothing, on the way to the one that did."""
        for number in range(len(changes) - 1):
            fewer = (*changes[:number], *changes[number + 1 :])
            trial = try_changes(self.laboratory, self.reference, fewer, fresh=True)
            if trial.status == "verified":
                self.trials.append(trial)
                self._shorten(fewer)
                return

    def _is_open(self) -> bool:
        return not any(trial.status in _ENDED for trial in self.trials)

    def _round(
        self, changes: tuple[Change, ...], failing: Outcome, kinds: Sequence[str], places: frozenset[str]
    ) -> _Round:
        offered = [change for change in candidates(failure_of(changes, failing)) if change.kind in kinds]
        return _Round(changes, failing, offered, places | {failing.identity, failing.place_of(changes)})

    def _next_trial(self, round: _Round, ahead: RunsAhead) -> Trial:
        change = round.offered[round.next]
        round.next += 1
        self.told(change.text, round.next, len(round.offered))
        changes = (*round.changes, change)
        following = ((*round.changes, each) for each in round.offered[round.next :])
        trial = judged(self.reference, changes, ahead.outcome(changes, following), round.places)
        if trial.status == "verified" and not self.laboratory.job.is_command:  # a command never was a fork
            trial = try_changes(self.laboratory, self.reference, changes, round.places, fresh=True)
        self.trials.append(trial)
        return trial
