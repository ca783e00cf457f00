"""What rules yield, and how they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from devsan.diagnostics.diagnostic import SEVERITIES, Confidence, Diagnostic, Edit, Fix, Place, Severity

Checked = TypeVar("Checked")


def finding(
    code: str, title: str, place: Place | None, evidence: tuple[str, ...], fix: str, edits: tuple[Edit, ...] = (),
    severity: Severity = "warning", confidence: Confidence = "likely", sites: tuple[Place, ...] = (),
    others: tuple[str, ...] = (), subject: str = "",
) -> Diagnostic:  # fmt: skip
    """Returns what a rule has found.

    Args:
        code: "DV405".
        title: one line, concrete.
        place: None where it is of the machine, the environment or the launch command.
        evidence: sentences, the deciding one first.
        fix: the best one, as an instruction.
        edits: the same as edits, where it is mechanical.
        severity: an error stops the job or spoils its result; a warning may; a note is worth knowing and is no fault.
        confidence: in the cause and its fixes.
        sites: further places that the evidence is about.
        others: further fixes, the better first.
        subject: what it is about where there is no place: "CUDA_VISIBLE_DEVICES", "deepspeed 0.14.2".
    """
    return Diagnostic(
        title=title, code=code, severity=severity, confidence=confidence, source="devsan",
        sites=() if place is None else (place,),
        see_also=tuple(dict.fromkeys(each for each in sites if each != place)), subject=subject, evidence=evidence,
        fixes=(Fix(fix, confidence, edits), *(Fix(other, confidence) for other in others)),
    )  # fmt: skip


def found_by(
    rules: Sequence[Callable[[Checked], Iterable[Diagnostic]]],
    checked: Checked,
    on_failure: Callable[[str, Exception], None] | None,
) -> list[Diagnostic]:
    """Returns what ``rules`` find wrong with ``checked``, each fault once.

    Args:
        rules: those to ask.
        checked: what they are asked about.
        on_failure: told the rule's file and its error when a rule itself fails; without it the error is raised.
    """
    found: dict[tuple[object, ...], Diagnostic] = {}
    for rule in rules:
        try:
            for each in list(rule(checked)):  # of a rule that fails nothing counts
                found.setdefault((each.code, each.place, each.title), each)
        except Exception as error:
            if on_failure is None:
                raise
            on_failure(rule.__module__.partition(".rules.")[2] or rule.__name__, error)
    return list(found.values())


def how_bad(diagnostic: Diagnostic) -> int:
    """Returns what to sort by for the worst to come first."""
    return SEVERITIES[diagnostic.severity]
