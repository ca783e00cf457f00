"""What DevSan has to say about one fault: made by a run, a job and the doctor alike, and shown by ``devsan.render``.

Plain data: no tensors, no frames. Sentences are ``Message``s, so that they are put into words where they are shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from devsan.diagnostics.held_memory import HeldMemory
from devsan.diagnostics.placement import Placement

Severity = Literal["error", "warning", "note"]
Confidence = Literal["certain", "likely", "possible"]

SEVERITIES: dict[str, int] = {"error": 0, "warning": 1, "note": 2}
"""The worst first."""

CONFIDENCES: dict[str, int] = {"certain": 0, "likely": 1, "possible": 2}
"""The surest first."""


@dataclass(frozen=True)
class Label:
    """An underlined piece of one source line. Columns are 0-based and count characters; ``end`` is exclusive."""

    line: int
    start: int
    end: int
    texts: tuple[str, ...] = ()
    offending: bool = False


@dataclass(frozen=True)
class Place:
    """A span of a file, and what is shown of it.

    Attributes:
        file: as the user would write it.
        line: counted from 1; 0 where it is not known. So are the others.
        column: in characters, counted from 1.
        end_line: of the last character.
        end_column: one beyond the last character.
        lines: the source lines to show, by number; empty when there is no source.
        labels: what to underline in them.
        note: what stands behind the place: "called from here".
        path: the file as it is found from anywhere.
    """

    file: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    lines: dict[int, str] = field(default_factory=dict, compare=False)
    labels: tuple[Label, ...] = ()
    note: str = ""
    path: str = ""

    def __str__(self) -> str:
        return ":".join([self.file, *(str(number) for number in (self.line, self.column) if number)])


@dataclass(frozen=True)
class Operand:
    """One operand of the failing operation, and who put it where it is.

    Attributes:
        name: what the source calls it ("self.norm.weight"), or else torch ("tensors[2]"); None when nobody says.
        placement: where it is; None when not even that is known.
        offending: whether torch names it as the one in the wrong place.
        qualified_name: what it is under another name: "model.layers.17.norm.weight", "attn_output in torch/nn/...".
        owner: who placed it: "this program", "accelerate: AlignDevicesHook"; "" when not known.
        place: the line that did it; None when not known. Its lines hold the source.
        setting: what told the owner to do so: `device_map["lm_head"] = 3`.
        followed: the tensor that brought a computed result to its device, when it has a name.
    """

    name: str | None
    placement: Placement | None
    offending: bool = False
    qualified_name: str | None = None
    owner: str = ""
    place: Place | None = None
    setting: str = ""
    followed: str = ""


@dataclass(frozen=True)
class Edit:
    """The text ``before``, which stands at ``place``, becomes ``after``.

    Attributes:
        place: where ``before`` begins. Of an edit of whole lines the columns may be 0.
        safe: it may be applied unseen, by ``--fix``; otherwise it is only shown.
    """

    place: Place
    before: str
    after: str
    safe: bool = True


@dataclass(frozen=True)
class Fix:
    """What to change.

    Attributes:
        text: one sentence in the imperative.
        confidence: in it.
        edits: the change itself, where it is mechanical.
        kind: where it is made: "configuration", "map", "creation_site" or "use_site"; "" where nobody asks.
    """

    text: str
    confidence: Confidence = "likely"
    edits: tuple[Edit, ...] = ()
    kind: str = ""


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One fault.

    Attributes:
        title: what went wrong, in one line.
        code: "DV104"; "DV000" when the evidence does not decide, "" where there is no diagnosis.
        severity: an error stops the job or spoils its result; a warning may; a note is worth knowing and is no fault.
        confidence: in the cause.
        sentence: the words of the error, intact; "" where nothing failed.
        source: whose words those are: "torch", the name of a library, "devsan".
        sites: the failing operation or the faulty line first, then who called it and what else is shown with source.
        see_also: further places that the evidence is about.
        subject: what it is about where there is no place: "CUDA_VISIBLE_DEVICES", "deepspeed 0.14.2".
        rank: of this process when there are several, or of all that it is about.
        operands: those that the labels do not already tell everything about and whose owner is not known.
        placed: the operands of which is known who placed them, the one to change first.
        evidence: whole sentences: what was seen that makes it this cause and not another, the deciding one first; where
            it is undecided each begins with its code ("DV101: ...").
        candidates: codes with their names, only where it is undecided.
        fixes: the surest first, whoever added them; of those that are as sure the first given.
        naive_fix: what a naive ``.to(device)`` at the failing line would break.
        notes: further lines, each a fact.
        memory: of the GPU that is full; None for another fault, and where nobody knows who holds it.
    """

    title: str
    code: str = ""
    severity: Severity = "error"
    confidence: Confidence = "likely"
    sentence: str = ""
    source: str = "torch"
    sites: tuple[Place, ...] = ()
    see_also: tuple[Place, ...] = ()
    subject: str = ""
    rank: str | None = None
    operands: tuple[Operand, ...] = ()
    placed: tuple[Operand, ...] = ()
    evidence: tuple[str, ...] = ()
    candidates: tuple[tuple[str, str], ...] = ()
    fixes: tuple[Fix, ...] = ()
    naive_fix: str = ""
    notes: tuple[str, ...] = ()
    memory: HeldMemory | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "fixes", tuple(sorted(self.fixes, key=lambda fix: CONFIDENCES[fix.confidence])))

    @property
    def place(self) -> Place | None:
        """Where it is; None where it is of the machine, the environment or the launch command."""
        return self.sites[0] if self.sites else None
