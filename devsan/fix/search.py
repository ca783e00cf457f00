"""Tries candidates until the job runs to its end with the right numbers.

NOTE [Rounds] The job runs once with the policy "warn": that shows all places, and computes what one device would
compute, which is the reference (``reference_run``). Then candidates run, one each. One that ends the job with the
reference's numbers is verified. One after which the job fails elsewhere may be the first of several: what fails then
is the next round (NOTE [Which round is next] in ``exploration``). A candidate whose numbers differ is rejected, however
well it runs. Where the fault is in a library, its users need a change of their own files and its authors a patch, so
that both are looked for, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from devsan.fix.alone_run import difference_alone
from devsan.fix.candidates import KINDS, PATCH
from devsan.fix.change import Change
from devsan.fix.experiment import Laboratory, Outcome
from devsan.fix.exploration import Exploration, failure_of
from devsan.fix.failure import Failure
from devsan.fix.passing_findings import may_pass, without_passing
from devsan.fix.reference_run import Reference, find_reference
from devsan.fix.trial import Trial

MOST_ROUNDS = 20

_PLACED = ("creation_site", "statement_order")
_LOSS = "DV104"


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
        difference: of a program in which nothing fails, from a run on one GPU; "" without one.
    """

    first: Outcome | None = None
    failing: Outcome | None = None
    reference: Reference | None = None
    trials: list[Trial] = field(default_factory=list)
    untried: list[Change] = field(default_factory=list)
    seconds: float = 0.0
    difference: str = ""

    @property
    def verified(self) -> list[Trial]:
        """Returns the verified fixes, the best first."""
        return sorted((trial for trial in self.trials if trial.status == "verified"), key=lambda trial: trial.cost)

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


def search(
    laboratory: Laboratory,
    told: Callable[[str], None],
    all_of_them: bool = False,
    most_rounds: int = MOST_ROUNDS,
    found: Search | None = None,
) -> Search:
    """Tries what could be changed.

    Args:
        laboratory: of the job.
        told: called before each experiment with what is tried; the program as it is: "reference", "failure", "alone".
        all_of_them: go on after the first verified fix, to find the best.
        most_rounds: how many failures are followed, one behind the other.
        found: what is filled and returned, for a caller that may interrupt it; a new one by default.
    """
    found = found if found is not None else Search()
    laboratory.compiled = False
    found.reference = find_reference(laboratory, told)
    found.first = found.reference.first
    laboratory.seconds = min(laboratory.seconds, 60 + 10 * found.first.seconds)
    failing = found.first
    shown = any(finding["operands"] for finding in found.first.findings)
    if not found.first.ended or not shown:
        told("failure")
        failing = found.failing = found.reference.failing()
    elif laboratory.jobs > 1 or may_pass(found.first.findings[0]):  # with jobs it has run already
        told("failure")
        alone = found.reference.failing()
        failing = found.first = found.reference.first = without_passing(found.first, alone)
        if not failing.findings:
            failing = found.failing = alone
    if failing.ended and not failing.findings:
        told("alone")
        found.difference = difference_alone(laboratory, failing)
    elif failing.findings:
        known = found.first if found.first.ended else None
        explore = Exploration(laboratory, found.reference, told, all_of_them, most_rounds, found.trials, found.untried)
        explore.follow(failing, [kind for kind in KINDS if kind != PATCH], known)
        failure = failure_of((), failing)
        if not found.verified or _is_librarys(failure, found.verified[0]):
            explore.follow(failing, [PATCH], known)
    return found


def _is_librarys(failure: Failure, fix: Trial) -> bool:
    """Whether a library is at fault in a ``failure`` that has a verified ``fix``.

    It is not where the fix corrects what the program itself has put somewhere, unless the library joins the labels of
    the batch with what the model's last stage gave.
    """
    placed = all(change.kind in _PLACED for change in fix.changes) and failure.finding["code"] != _LOSS
    return failure.in_library and not failure.has_two_owners and not placed
