"""What a report says, before anybody decides how it looks: plain data, no tensors, no frames."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Placement:
    """Where a tensor is and what it is made of; dtype and shape are None when only the device can be told.

    Attributes:
        device: "cuda:1", or "cuda" when the index is not known.
        dtype: torch's name without "torch.": "float32".
        shape: the sizes.
    """

    device: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return f"{self.device}  {self.kind}" if self.dtype else self.device

    @property
    def kind(self) -> str:
        """dtype and shape in one word: "float32[30,256]"."""
        if self.dtype is None:
            return ""
        return self.dtype + ("" if self.shape is None else f"[{','.join(map(str, self.shape))}]")

    def is_on(self, device: str) -> bool:
        """Returns whether this is ``device``, where "cuda" stands for any of them."""
        return self.device == device or self.device.startswith(device + ":") or device.startswith(self.device + ":")


@dataclass(frozen=True)
class Operand:
    """One operand of the failing operation.

    Attributes:
        name: what the source calls it ("self.norm.weight"), or else torch ("tensors[2]"); None when nobody says.
        placement: where it is; None when not even that is known.
        odd: whether torch names it as the one in the wrong place.
        known_as: what it is under another name: "model.layers.17.norm.weight", "attn_output in torch/nn/...".
    """

    name: str | None
    placement: Placement | None
    odd: bool = False
    known_as: str | None = None


@dataclass(frozen=True)
class Label:
    """An underlined piece of one source line. Columns are 0-based and count characters; ``end`` is exclusive."""

    line: int
    start: int
    end: int
    texts: tuple[str, ...] = ()
    odd: bool = False


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
    """

    file: str
    line: int
    column: int | None = None
    lines: dict[int, str] = field(default_factory=dict)
    labels: tuple[Label, ...] = ()
    note: str = ""


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
    """

    title: str
    sentence: str
    sites: tuple[Site, ...] = ()
    operands: tuple[Operand, ...] = ()
    notes: tuple[str, ...] = ()
    rank: str | None = None
