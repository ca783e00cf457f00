"""What the doctor found: a code, where, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

Severity = Literal["error", "warning", "note"]
Confidence = Literal["certain", "likely", "possible"]
Checked = TypeVar("Checked")

ORDER = {"error": 0, "warning": 1, "note": 2}  # of severities, the worst first


@dataclass(frozen=True)
class Place:
    """A span of a file.

    Attributes:
        file: as it was named, relative or absolute.
        line: counted from 1; 0 where it is not known. So are the others.
        column: in characters, counted from 1.
        end_line: of the last character.
        end_column: one beyond the last character.
    """

    file: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return ":".join([self.file, *(str(number) for number in (self.line, self.column) if number)])


@dataclass(frozen=True)
class Edit:
    """The text ``before``, which stands at ``place``, becomes ``after``.

    Attributes:
        safe: ``--fix`` may apply it unseen; otherwise it is only shown.
    """

    place: Place
    before: str
    after: str
    safe: bool = True


@dataclass(frozen=True)
class Finding:
    """One fault.

    Attributes:
        code: "DV405"; its page says more.
        title: one line, concrete.
        place: None where it is of the machine, the environment or the launch command.
        evidence: sentences, the deciding one first.
        fix: the best one, as an instruction.
        edits: the fix as edits, where it is mechanical.
        severity: an error stops the job or spoils its result; a warning may; a note is worth knowing and is no fault.
        confidence: in the cause and its fix.
        sites: further places that the evidence is about.
        others: further fixes, the better first.
        subject: what it is about where there is no place: "CUDA_VISIBLE_DEVICES", "deepspeed 0.14.2".
    """

    code: str
    title: str
    place: Place | None
    evidence: tuple[str, ...]
    fix: str
    edits: tuple[Edit, ...] = ()
    severity: Severity = "warning"
    confidence: Confidence = "likely"
    sites: tuple[Place, ...] = ()
    others: tuple[str, ...] = ()
    subject: str = ""


def finding(
    code: str, title: str, place: Place | None, evidence: tuple[str, ...], fix: str, edits: tuple[Edit, ...] = (),
    severity: Severity = "warning", confidence: Confidence = "likely", sites: tuple[Place, ...] = (),
    others: tuple[str, ...] = (), subject: str = "",
) -> Finding:  # fmt: skip
    """Returns what a rule has found: a code, where, why, and what to do about it.

    Args:
        code: "DV405"; its page says more.
        title: one line, concrete.
        place: None where it is of the machine, the environment or the launch command.
        evidence: sentences, the deciding one first.
        fix: the best one, as an instruction.
        edits: the fix as edits, where it is mechanical.
        severity: an error stops the job or spoils its result; a warning may; a note is worth knowing and is no fault.
        confidence: in the cause and its fix.
        sites: further places that the evidence is about.
        others: further fixes, the better first.
        subject: what it is about where there is no place: "CUDA_VISIBLE_DEVICES", "deepspeed 0.14.2".
    """
    return Finding(code, title, place, evidence, fix, edits, severity, confidence, sites, others, subject)


def found_by(
    rules: Sequence[Callable[[Checked], Iterable[Finding]]],
    checked: Checked,
    on_failure: Callable[[str, Exception], None] | None,
) -> list[Finding]:
    """Returns what ``rules`` find wrong with ``checked``, each fault once.

    Args:
        rules: those to ask.
        checked: what they are asked about.
        on_failure: told the rule's file and its error when a rule itself fails; without it the error is raised.
    """
    found: dict[tuple[object, ...], Finding] = {}
    for rule in rules:
        try:
            for finding in list(rule(checked)):  # of a rule that fails nothing counts
                found.setdefault((finding.code, finding.place, finding.title), finding)
        except Exception as error:
            if on_failure is None:
                raise
            on_failure(rule.__module__.partition(".rules.")[2] or rule.__name__, error)
    return list(found.values())
