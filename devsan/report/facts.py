"""What a report says, before anybody decides how it looks: plain data, no tensors, no frames."""

from __future__ import annotations

from dataclasses import dataclass, field

from devsan.diagnostics.placement import Placement


@dataclass(frozen=True)
class Operand:
    """One operand of the failing operation.

    Attributes:
        name: what the source calls it ("self.norm.weight"), or else torch ("tensors[2]"); None when nobody says.
        placement: where it is; None when not even that is known.
        offending: whether torch names it as the one in the wrong place.
        qualified_name: what it is under another name: "model.layers.17.norm.weight", "attn_output in torch/nn/...".
    """

    name: str | None
    placement: Placement | None
    offending: bool = False
    qualified_name: str | None = None


@dataclass(frozen=True)
class Label:
    """An underlined piece of one source line. Columns are 0-based and count characters; ``end`` is exclusive."""

    line: int
    start: int
    end: int
    texts: tuple[str, ...] = ()
    offending: bool = False


@dataclass(frozen=True)
class Site:
    """A place in the source.

    Attributes:
        file: as the user would write it.
        line: 1-based.
        column: 1-based, None when not known.
        lines: the source lines to show, by number; empty when there is no source.
        labels: what to underline in them.
        note: what stands behind the place: "called from here".
        path: the file as it is found from anywhere.
    """

    file: str
    line: int
    column: int | None = None
    lines: dict[int, str] = field(default_factory=dict)
    labels: tuple[Label, ...] = ()
    note: str = ""
    path: str = ""


@dataclass(frozen=True)
class Placed:
    """Who put an operand where it is.

    Attributes:
        name: of the operand, as the report calls it.
        placement: where it is.
        owner: "this program", "accelerate: AlignDevicesHook"; "" when not known.
        site: the line that did it; None when not known. Its lines hold the source.
        setting: what told the owner to do so: `device_map["lm_head"] = 3`.
        offending: as in Operand.
        qualified_name: as in Operand.
        followed: the tensor that brought a computed result to its device, when it has a name.
    """

    name: str
    placement: Placement
    owner: str = ""
    site: Site | None = None
    setting: str = ""
    offending: bool = False
    qualified_name: str | None = None
    followed: str = ""


@dataclass(frozen=True)
class Edit:
    """A change of source: the text of the lines from ``line`` on, before and after."""

    file: str
    line: int
    before: str
    after: str


@dataclass(frozen=True)
class Fix:
    """What to change.

    Attributes:
        text: one sentence in the imperative.
        confidence: "certain", "likely" or "possible".
        edit: the change itself, where it is mechanical.
        kind: where it is made: "configuration", "map", "creation_site" or "use_site".
    """

    text: str
    confidence: str
    edit: Edit | None = None
    kind: str = ""


@dataclass(frozen=True)
class Cause:
    """What the diagnosis adds to a report.

    Attributes:
        code: "DV104"; "DV000" when the evidence does not decide.
        placed: the operands of which is known who placed them, the one to change first.
        fix: the best one; None without.
        candidates: codes with their names, only where it is undecided.
        evidence: whole sentences: what was seen that makes it this cause and not another, the deciding one first; where
            it is undecided each begins with its code ("DV101: ...").
        naive_fix: what a bare ``.to(device)`` at the failing line would break.
        others: the other fixes, best first.
    """

    code: str
    placed: tuple[Placed, ...] = ()
    fix: Fix | None = None
    candidates: tuple[tuple[str, str], ...] = ()
    evidence: tuple[str, ...] = ()
    naive_fix: str = ""
    others: tuple[Fix, ...] = ()


@dataclass(frozen=True)
class Report:
    """One failure.

    Attributes:
        title: what went wrong, in one line.
        sentence: torch's own words, intact.
        sites: the failing operation first, then who called it.
        operands: the operands that the labels do not already tell everything about.
        notes: further lines, each a fact.
        rank: of this process, when there are several.
        cause: what the diagnosis says; None where there is none.
        speaker: whose words the sentence is: "torch", the name of a library, "devsan".
        severity: "error", or "warning" where the program went on.
    """

    title: str
    sentence: str
    sites: tuple[Site, ...] = ()
    operands: tuple[Operand, ...] = ()
    notes: tuple[str, ...] = ()
    rank: str | None = None
    cause: Cause | None = None
    speaker: str = "torch"
    severity: str = "error"
