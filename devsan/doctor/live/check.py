"""The rules, over live models: what ``devsan.doctor(model, optimizer)`` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType

from devsan.diagnosis.gc_pause import Paused
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.findings import found_by, how_bad
from devsan.doctor.live.diagnosis import Diagnosis, placing_of
from devsan.doctor.live.lines import Lines
from devsan.doctor.live.rules import RULES, Rule
from devsan.doctor.live.subject import Subject, subject_of
from devsan.errors import tell
from devsan.introspect.frames.tensors import plain_attributes

Failed = Callable[[str, Exception], None]


def doctor(*subjects: object, caller: FrameType) -> Diagnosis:
    """Returns the diagnosis of ``subjects``; ``devsan.doctor`` says the rest.

    Args:
        *subjects: models, optimizers, and what holds them.
        caller: the frame that asks: its variables and its file tell which line did what.
    """
    with Paused(), plain_attributes():
        subject = subject_of(subjects, Lines(caller=caller))
        if not subject.trees and not subject.optimizers:
            got = ", ".join(type(each).__name__ for each in subjects) or "nothing"
            raise TypeError(f"expected models and optimizers to check, got {got}")
        found = check(subject, RULES, _own_failure)
        return Diagnosis(found, placing_of(subject))


def check(subject: Subject, rules: Sequence[Rule], on_failure: Failed) -> list[Diagnostic]:
    """Returns what ``rules`` find wrong with ``subject``, the worst first, each fault once.

    Args:
        subject: models, optimizers, lines.
        rules: those to ask.
        on_failure: told the rule and its error when a rule itself fails.
    """
    return sorted(found_by(rules, subject, on_failure), key=how_bad)


def _own_failure(rule: str, error: Exception) -> None:
    tell(f"the doctor's own rule {rule} failed: {type(error).__name__}: {' '.join(str(error).split())}")
