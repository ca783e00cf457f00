"""The numbers that a fix is compared with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from devsan.diagnostics.messages import Message, message
from devsan.fix.experiment import Laboratory, Outcome
from devsan.numbers import calls, reference
from devsan.numbers.comparison import Comparison, compare
from devsan.numbers.noise import MOST_NOISE, held_by_both, without_noise

_BLIND = message("what the failure prevents computes nothing that is compared")


@dataclass
class Reference:
    """What one device computes, found by further runs where the first does not end (NOTE [The reference]).

    Attributes:
        laboratory: of the job.
        first: the run under the policy "warn".
        outcome: the run that ended; None where none did.
        kind: of that run.
    """

    laboratory: Laboratory
    first: Outcome
    outcome: Outcome | None = None
    kind: str = ""
    _failing: Outcome | None = None
    _calibrated: bool = False
    _calls: Outcome | None = None
    _why_no_calls: str = ""
    _kinds: Sequence[str] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def failing(self) -> Outcome:
        """Returns the run as it is, as on GPUs; compiled where only that may fail (NOTE [Compiled functions])."""
        with self._lock:
            found = self._failing or self.laboratory.run(compared=True)
            if found.compiles and found.ended and not found.findings and not self.laboratory.compiled:
                self.laboratory.compiled = True
                found = self.laboratory.run(compared=True)
            self._failing = found
            return found

    def altered(self, sources: Mapping[str, str]) -> Reference:
        """Returns what one device computes with a change that alters that too (``Change.alters``).

        Args:
            sources: of the files that it changes.
        """
        if self.outcome is None:
            return self
        outcome = self.laboratory.run(sources, policy="warn", meeting=self.kind, compared=True)
        return Reference(self.laboratory, self.first, outcome if outcome.ended else None, self.kind, self._failing)

    def judge(self, outcome: Outcome, run_again: Callable[[], Outcome]) -> Comparison:
        """Compares the run of a candidate, which ended, with this.

        A comparison that would not tell the failing run from this one proves nothing; neither does one with numbers
        that are others in each run. Both are looked at once, and only when a candidate needs them.

        Args:
            outcome: of the candidate.
            run_again: runs it once more and keeps its calls, where its results prove nothing.
        """
        if self.outcome is None:
            return Comparison({}, impossible=_not_ended(self.first.error))
        found = compare(self.outcome.numbers, outcome.numbers)
        may_rest = not found.equal and self.kind in reference.WITH_VALUES
        if may_rest:
            found = compare(self.outcome.numbers, outcome.numbers, may_rest)
        if found.equal and self.failing().only_warns:
            return found
        if found.impossible or (found.equal and compare(self.outcome.numbers, self.failing().numbers, may_rest).equal):
            return self._judge_calls(found, run_again)
        if found.difference:
            noise = self._calibrate()
            if noise:
                return Comparison({}, impossible=_noise(noise))
            found = compare(self.outcome.numbers, outcome.numbers, may_rest)
        if found.difference and not may_rest:
            found = self._without_its_noise(outcome, found, run_again)
        return found

    def _without_its_noise(self, outcome: Outcome, found: Comparison, run_again: Callable[[], Outcome]) -> Comparison:
        """Compares once more where the candidate itself is another in each run (NOTE [Noise that grows]).

        It is on several GPUs; the reference, on one device, may be the same in each run. What it alone has
        left at its end, such as a cache of each GPU, is expected of nobody.
        """
        assert self.outcome is not None
        if not compare(self.outcome.numbers, outcome.numbers, least=MOST_NOISE).equal:
            return found
        numbers, noise = without_noise(outcome.numbers, run_again().numbers)
        again = compare(held_by_both(numbers, self.outcome.numbers), self.outcome.numbers)
        return found if noise or not again.equal else again

    def _judge_calls(self, found: Comparison, run_again: Callable[[], Outcome]) -> Comparison:
        """Compares the calls of the candidate with those of the reference (NOTE [Calls])."""
        by_luck = self.failing().only_warns
        with self._lock:
            if self._calls is None:
                self._calls, self._why_no_calls = self._find_calls(found.impossible or _BLIND, by_luck)
        if self._why_no_calls:
            return Comparison(found.compared, impossible=self._why_no_calls)
        again = run_again()
        difference = calls.missing(self._calls.numbers, again.numbers, self._kinds)
        if difference or not again.ended:
            return Comparison(found.compared, difference or message("it does not end each time"))
        count = sum(len(calls.calls_of(events, self._kinds)) for events in self._calls.numbers.values())
        return Comparison({**found.compared, "call": count})

    def _find_calls(self, why_not: str, by_luck: bool) -> tuple[Outcome, str]:
        """Runs the reference, the job as it is, and the reference once more, each with its calls.

        Args:
            why_not: said where the calls tell nothing either.
            by_luck: the job as it is makes all calls, and nothing orders them.
        """
        kept = self.laboratory.run(policy="warn", meeting=self.kind, calls=True)
        if not kept.ended or calls.loses(kept.numbers):
            return kept, why_not
        failing = self.laboratory.run(calls=True)
        telling = [kinds for kinds in calls.KINDS if by_luck or calls.missing(kept.numbers, failing.numbers, kinds)]
        if not telling:
            return kept, why_not
        self._kinds = telling[0]
        again = self.laboratory.run(policy="warn", meeting=self.kind, calls=True)
        noise = calls.missing(kept.numbers, again.numbers, self._kinds)
        return kept, _noise(noise) if noise else ""

    def _calibrate(self) -> str:
        with self._lock:
            assert self.outcome is not None
            if self._calibrated:
                return ""
            again = self.laboratory.run(policy="warn", meeting=self.kind, rounds_anew=True)
            numbers, noise = without_noise(self.outcome.numbers, again.numbers)
            if not noise:
                self._calibrated = True
                self.outcome = replace(self.outcome, numbers=numbers)
            return noise


def _not_ended(error: str) -> Message:
    return message("the program does not end on one device either: {error}", error=error)


def _noise(difference: str) -> Message:
    return message("the program computes other numbers in each run: {difference}", difference=difference)


def find_reference(laboratory: Laboratory, told: Callable[[str], None]) -> Reference:
    """Runs the job until it ends on one device, or all ways have been tried; meanwhile as it is, if jobs allow it."""
    with ThreadPoolExecutor(1) as beside:
        failing = beside.submit(laboratory.run) if laboratory.jobs > 1 else None
        found: Reference | None = None
        again: Outcome | None = None
        try:
            for kind in reference.KINDS:
                told("reference")
                outcome = laboratory.run(policy="warn", meeting=kind, compared=True)
                found = found or Reference(laboratory, outcome)
                if outcome.ended:
                    found.outcome, found.kind = outcome, kind
                    break
                if again and _fails_by_itself(outcome) and outcome.error == again.error:
                    break  # so will it in the other ways
                again = outcome
        except BaseException:
            laboratory.stop()  # an interrupt ends the run beside as well, for which the pool waits
            raise
        assert found is not None
        found._failing = None if failing is None else failing.result()
    return found


def _fails_by_itself(outcome: Outcome) -> bool:
    """Whether it fails for another reason than devices or memory."""
    return not outcome.timed_out and bool(outcome.error) and not outcome.findings
