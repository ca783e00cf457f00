"""One experiment of the search: changes, and what they prove."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from devsan.diagnostics.messages import message
from devsan.errors import DevsanError
from devsan.fix.candidates import KINDS, PATCH
from devsan.fix.change import COPIES, Change, applied
from devsan.fix.experiment import Laboratory, Outcome
from devsan.fix.reference_run import Reference
from devsan.numbers.comparison import Comparison

_LEAST = 1 / 25
"""The share of a model's weights that a map may have given a GPU: less may be there by mistake."""

_LITTLE = 1 / 4
"""The share of its weights that a GPU has kept, at the most, where a change has gathered the model on another one."""


@dataclass(frozen=True)
class Trial:
    """One experiment.

    Attributes:
        changes: what was changed.
        outcome: what came of it; None where the edits did not fit.
        comparison: with the reference; None where it did not end.
        status: "verified", "unverified" (it ends, and nothing can be compared), "rejected" (other numbers), "same" (the
            same failure), "other" (another failure), "failed" (the program fails by the change itself).
        vacated: GPUs that held weights of the model, and then hold little or nothing of them.
        altered: what the changes alter on one device too, as ``Change.alters``; the reference is the run with them.
    """

    changes: tuple[Change, ...]
    outcome: Outcome | None
    comparison: Comparison | None
    status: str
    vacated: tuple[str, ...] = ()
    altered: str = ""

    @property
    def is_patch(self) -> bool:
        """Returns whether it changes a library, which is for the library's authors to do."""
        return any(change.kind == PATCH for change in self.changes)

    @property
    def crosses(self) -> bool:
        """Returns whether a rank then holds memory of another rank's GPU."""
        return self.outcome is not None and self.outcome.crosses

    @property
    def moves_work(self) -> bool:
        """Returns whether it has the right numbers on other GPUs than those that the program means to use."""
        return self.crosses or bool(self.vacated)

    @property
    def cost(self) -> tuple[bool, bool, int, int, int]:
        """Returns what orders verified fixes, the best first: whose files, whether the work stays on its GPUs, how many
        changes, where, and what they transfer."""
        kinds = max(KINDS.index(change.kind) if change.kind in KINDS else len(KINDS) for change in self.changes)
        transferred = self.outcome.transferred if self.outcome is not None else 0
        return (self.is_patch, self.moves_work, len(self.changes), kinds, transferred)


def try_changes(
    laboratory: Laboratory, reference: Reference, changes: tuple[Change, ...], seen: Collection[str] = (),
    fresh: bool = False,
) -> Trial:  # fmt: skip
    """Runs the job with ``changes`` and says what that proves.

    Args:
        laboratory: of the job.
        reference: what the numbers are compared with.
        changes: made together.
        seen: places of failures from which the search has come, as ``Outcome.place_of`` has them.
        fresh: as ``Laboratory.run`` takes it.
    """
    return judged(laboratory, reference, changes, outcome_of(laboratory, changes, fresh), seen, fresh)


def outcome_of(laboratory: Laboratory, changes: tuple[Change, ...], fresh: bool = False) -> Outcome | None:
    """Runs the job with ``changes``; returns None where they do not fit."""
    try:
        return laboratory.run(applied(changes), fresh=fresh)
    except DevsanError:
        return None


def judged(
    laboratory: Laboratory, reference: Reference, changes: tuple[Change, ...], outcome: Outcome | None,
    seen: Collection[str] = (), fresh: bool = False,
) -> Trial:  # fmt: skip
    """Returns what the run of ``changes`` proves, which came to ``outcome``; the rest as ``try_changes`` takes it."""
    if outcome is None or (not outcome.ended and not outcome.findings):
        return Trial(changes, outcome, None, "failed")
    if not outcome.ended or outcome.only_warns:
        return Trial(changes, outcome, None, "same" if outcome.place_of(changes) in seen else "other")
    sources = applied(changes)

    def with_calls() -> Outcome:
        return laboratory.run(sources, fresh=fresh, calls=True)

    comparison = reference.judge(outcome, with_calls)
    alters = [change.alters for change in changes if change.alters and comparison.difference]
    altered = next((each for each in alters if each != COPIES or comparison.differs == "state"), "")
    if altered:
        comparison = reference.altered(sources).judge(outcome, with_calls)
    if comparison.impossible:
        return Trial(changes, outcome, comparison, "unverified")
    left = vacated_by(reference.first, outcome)
    if _computes_on_gpus(reference.first):
        if not any(outcome.peaks.values()):
            comparison = Comparison(comparison.compared, message("nothing is left on a GPU"))
        elif left and not outcome.weights_from(_LEAST) and set(left) >= set(reference.first.weights):
            comparison = Comparison(comparison.compared, message("no part of the model is left on a GPU"))
    return Trial(changes, outcome, comparison, "verified" if comparison.equal else "rejected", left, altered)


def vacated_by(first: Outcome, outcome: Outcome) -> tuple[str, ...]:
    """Returns the GPUs that held weights of the models in the ``first`` run, and little or nothing in ``outcome``.

    Where all models are alive at the end, they say so; else the most that a GPU held, which is less than the weights.
    Models without a GPU at the end say nothing (Lightning's ``teardown`` takes them to the CPU), where they ran does;
    not of modules without data, which a hook of accelerate's loads for each call and takes away again.
    """
    now, ran_on = outcome.weights_from(_LEAST), outcome.ran_on
    all_there = bool(now) and _models_of(outcome) >= _models_of(first)
    fewer = len(outcome.weights) < len(first.weights)
    return tuple(
        sorted(
            gpu
            for gpu, size in first.weights.items()
            if (all_there and now.get(gpu, 0) < (_LITTLE * size if fewer and gpu not in outcome.weights else 1))
            or 2 * outcome.peaks.get(gpu, 0) < size
            or (not now and ran_on and not {gpu, "meta"} & ran_on)
        )
    )


def _models_of(outcome: Outcome) -> int:
    """How many models there were when they were looked at last: at a failure, or at the end."""
    last = outcome.models[-1]["finding"] if outcome.models else ""
    return sum(model["finding"] == last for model in outcome.models)


def _computes_on_gpus(first: Outcome) -> bool:
    """Whether operands on a GPU met others: then the GPUs are not there by mistake."""
    operands = (operand for finding in first.findings for operand in finding["operands"])
    return any(first.peaks.values()) and any(operand["device"].startswith("cuda") for operand in operands)
