"""Follows a failure through what could be changed, and through the failures behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from devsan.diagnostics.messages import Message, message
from devsan.errors import DevsanError
from devsan.fix.candidates import candidates
from devsan.fix.change import Change, applied
from devsan.fix.experiment import Laboratory, Outcome
from devsan.fix.failure import Failure
from devsan.fix.fewer import without
from devsan.fix.lessons import Lessons
from devsan.fix.reference_run import Reference
from devsan.fix.runs_ahead import RunsAhead
from devsan.fix.trial import Trial, judged, try_changes

MOST_TRIALS = 48
_MORE_TRIALS = 8  # for each further place that the reference shows and the search has come to

_FOR_A_BETTER = 16  # after a fix that computes on other GPUs than the program means to

_MOST_VISITS = 3  # of one place: a call of three operands may need two moves

Site = tuple[str, str, str]

# NOTE [Which round is next] The candidate with the smallest doubt is tried, of whichever round. Where the reference
# shows the failure behind a change, too, that change has done its part, and its round comes at once. A failure that
# only the change has brought about waits for what is as certain; one at the same line, with tensors of other devices,
# longer, unless it is another expression of that line that the reference shows, or another operand. A value that was
# moved for one line and fails at the next waits until the first places where it could have been made have been tried.
# Guesses, which move what stands in the scope to whatever device is named there, never come at once: there are dozens,
# and the cause may be on another way.
_AT_ONCE = -100
_GUESS = 18
_ELSEWHERE = 10
_SAME_VALUE = 15
_SAME_LINE = 25

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
        places: the failures that led here.
        penalty: added to the doubts of the candidates; see NOTE [Which round is next].
        next: number of the candidate to try next.
    """

    changes: tuple[Change, ...]
    failing: Outcome
    offered: list[Change]
    places: frozenset[str]
    penalty: int
    next: int = 0

    def doubt(self) -> tuple[int, int]:
        """Returns what orders rounds: the doubt of the candidate that is next, then how deep the round is."""
        doubt = self.offered[self.next].doubt
        penalty = self.penalty if doubt < _GUESS else max(self.penalty, 0)
        return (penalty + doubt, -len(self.changes))


def _without(changes: Sequence[Change], number: int) -> tuple[Change, ...]:
    """All but one of the changes; none where the others depend on it."""
    try:
        return without(changes, number)
    except DevsanError:
        return ()


def _compiles(trial: Trial) -> bool:
    return trial.outcome is not None and trial.outcome.compiles


def _penalty(before: Outcome, trial: Trial, known: Outcome | None) -> int:
    """Returns what speaks for or against following ``trial``, which failed elsewhere than ``before``."""
    assert trial.outcome is not None
    if trial.changes[-1].halfway:
        return _AT_ONCE
    if trial.outcome.only_warns:
        return _AT_ONCE if len(trial.outcome.findings) < len(before.findings) else _ELSEWHERE
    if trial.outcome.line_of(trial.changes) == before.line_of(trial.changes[:-1]):
        # Two losses of one line fail in the same line of torch, which the reference shows once.
        is_next = trial.outcome.expression_of(trial.changes) != before.expression_of(trial.changes[:-1])
        is_next = is_next or _is_of_others(before, trial.outcome)
        is_known = known is not None and trial.outcome.span_of(trial.changes) in known.spans
        return _AT_ONCE if is_next and is_known else _SAME_LINE
    if known is not None and _breaks_before(before, trial, known):
        return _ELSEWHERE
    if _meets_again(before, trial):
        return _SAME_VALUE
    return _AT_ONCE if known is None or trial.outcome.sites & known.sites else _ELSEWHERE


def _is_of_others(before: Outcome, after: Outcome) -> bool:
    """Whether fewer operands of the operation are in the wrong place now: the second state of an LSTM is left."""
    was, now = ({each["name"] for each in run.findings[0]["operands"] if each["offending"]} for run in (before, after))
    return bool(now) and now < was


def _meets_again(before: Outcome, trial: Trial) -> bool:
    """Whether the value that the last change moved where it is used is an operand of the failure behind it."""
    assert trial.outcome is not None
    change = trial.changes[-1]
    name = change.text.arguments.get("name", "").strip("`") if isinstance(change.text, Message) else ""
    moved = {_placing(each) for each in before.findings[0]["operands"] if each["name"] == name} - {None}
    met = {_placing(each) for each in trial.outcome.findings[0]["operands"]}
    return change.kind == "use_site" and bool(moved & met)


def _placing(operand: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Where an operand was put where it is; None of what was computed there."""
    event = next(iter(operand["provenance"]), None)
    frame = event["frames"][0] if event is not None and event["frames"] else None
    if event is None or frame is None or event["kind"] in ("computed", "shared"):
        return None
    return operand["device"], frame["path"], frame["line"]


def _breaks_before(before: Outcome, trial: Trial, known: Outcome) -> bool:
    """Whether the change made a line fail that ran before the one that failed, and that no run has shown."""
    assert trial.outcome is not None
    was, now = before.findings[0]["stack"], trial.outcome.findings[0]["stack"]
    path, line, *_ = trial.outcome.span_of(trial.changes)
    earlier = bool(was and now) and was[0]["function"] == now[0]["function"] and was[0]["path"] == path
    shown = {each[1] for each in known.spans if each[0] == path}
    return earlier and line < before.span_of(trial.changes[:-1])[1] and line not in shown


@dataclass
class Exploration:
    """Tries the candidates of failures; see NOTE [Rounds] in ``search``.

    Attributes:
        laboratory: of the job.
        reference: what the numbers are compared with.
        told: called before each experiment with what is tried.
        all_of_them: go on after the first verified fix.
        most_rounds: how many failures are followed, one behind the other.
        trials: in their order.
        untried: what was left of the candidates when a fix was verified.
    """

    laboratory: Laboratory
    reference: Reference
    told: Callable[[str], None]
    all_of_them: bool
    most_rounds: int
    trials: list[Trial] = field(default_factory=list)
    untried: list[Change] = field(default_factory=list)
    _lessons: Lessons = field(default_factory=Lessons)

    def follow(self, failing: Outcome, kinds: Sequence[str], known: Outcome | None) -> None:
        """Tries changes of these kinds until one is verified, or until one ends the program and no reference is there.

        Args:
            failing: the run that fails.
            kinds: of the changes.
            known: the run that went on as on one device and showed all places; None where none did.
        """
        rounds = [self._round((), failing, kinds, frozenset(), 0)]
        known_sites = known.sites if known is not None else set()
        entered = {failing.place_of(())}
        visits: Counter[frozenset[Site]] = Counter()
        second_best = False
        with RunsAhead(self.laboratory) as ahead:
            trials_left = MOST_TRIALS
            while trials_left > 0:
                trials_left -= 1
                left = [each for each in rounds if not self._is_through(each) and self._is_worth(each)]
                if not left:
                    return
                round = min(left, key=_Round.doubt)
                trial = self._next_trial(round, ahead)
                if trial.status == "verified" and trial.moves_work and not self.all_of_them:
                    if not second_best:
                        second_best, trials_left = True, min(trials_left, _FOR_A_BETTER)
                    continue
                if trial.status == "unverified" and self.reference.outcome is None and not self.all_of_them:
                    self.untried += round.offered[round.next :]
                    return  # nothing to compare with: no other change can prove more
                if trial.status == "verified" and not self.all_of_them:
                    self.untried += round.offered[round.next :]
                    self._shorten(trial.changes, ahead)
                    return
                if trial.status != "other" or len(trial.changes) >= self.most_rounds:
                    continue
                assert trial.outcome is not None
                sites = frozenset(trial.outcome.sites)
                place = trial.outcome.place_of(trial.changes)
                if place in entered or (visits[sites] >= _MOST_VISITS and not trial.outcome.only_warns):
                    continue
                entered.add(place)
                visits[sites] += 1
                trials_left += _MORE_TRIALS if sites & known_sites else 0
                penalty = round.penalty + _penalty(round.failing, trial, known)
                rounds.append(self._round(trial.changes, trial.outcome, kinds, round.places, penalty))

    def _shorten(self, changes: tuple[Change, ...], ahead: RunsAhead) -> None:
        """Leaves out what a verified fix does not need: a move that did nothing, on the way to the one that did."""
        left, at = changes, 0
        while at < (end := len(left) - (left == changes)):  # without the last of all the program fails, as is known
            fewer = _without(left, at)
            if fewer:
                self.told(message("without: {change}", change=left[at].text))
                following = filter(None, (_without(left, each) for each in range(at + 1, end)))
                trial = self._tried(fewer, ahead.outcome(fewer, following))
                if trial.status == "verified":
                    self.trials.append(trial)
                    left = fewer
                    continue
            at += 1

    def _is_through(self, round: _Round) -> bool:
        """Whether nothing is left to try in ``round``; leaves out what cannot help."""
        while round.next < len(round.offered) and self._lessons.is_hopeless(round.offered[round.next]):
            round.next += 1
        return round.next >= len(round.offered)

    def _is_worth(self, round: _Round) -> bool:
        """Whether a round is to be tried: what leads elsewhere is not, where something ends the program."""
        return round.penalty <= 0 or not any(trial.status in _ENDED for trial in self.trials)

    def _round(
        self, changes: tuple[Change, ...], failing: Outcome, kinds: Sequence[str], places: frozenset[str], penalty: int
    ) -> _Round:
        # A race passes: where no change is known for the first one, the others have theirs.
        for number in range(len(failing.findings) if failing.only_warns else 1):
            findings = [*failing.findings[number:], *failing.findings[:number]]
            first = replace(failing, findings=findings)
            offered = [change for change in candidates(failure_of(changes, first)) if change.kind in kinds]
            if offered:
                break
        offered.sort(key=self._lessons.was_in_vain)  # those last
        return _Round(changes, first, offered, places | {failing.place_of(changes)}, penalty)

    def _next_trial(self, round: _Round, ahead: RunsAhead) -> Trial:
        change = round.offered[round.next]
        round.next += 1
        self.told(change.text)
        changes = (*round.changes, change)
        following = ((*round.changes, each) for each in round.offered[round.next :])
        trial = self._tried(changes, ahead.outcome(changes, following), round.places)
        self.trials.append(trial)
        self._lessons.learn(change, trial.status, trial.outcome.error if trial.outcome is not None else "")
        return trial

    def _tried(
        self, changes: tuple[Change, ...], outcome: Outcome | None, places: frozenset[str] = frozenset()
    ) -> Trial:
        """What a run has proved; what it verified is run again in a process of its own (a command never was a fork)."""
        trial = judged(self.laboratory, self.reference, changes, outcome, places)
        if trial.status != "verified" or (self.laboratory.job.is_command and not _compiles(trial)):
            return trial
        return try_changes(self.laboratory, self.reference, changes, places, fresh=True)
