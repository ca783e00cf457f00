"""What a plan came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from devsan.blocks.measured import Measured
from devsan.diagnostics.messages import Message, message
from devsan.plan.placement import Placement
from devsan.plan.shortage import Shortage


@dataclass(frozen=True)
class Tried:
    """A rehearsal that decides, or why there was none.

    Attributes:
        what: "as it is", "map", "batch", "checkpointing", "quantization", "gpus".
        value: of a lever: samples, bits of a weight, or the number of GPUs; 0 without one.
        fits: whether the program came to its end with nothing wrong.
        peaks: bytes that were allocated at most, by GPU ("cuda:0").
        transferred: bytes between GPUs in the whole run.
        reason: why it does not fit, or was not tried; "" where it fits.
        placement: that it ran with; None for the program's own.
        seconds: that it took.
        is_tried: whether it was tried.
        fails: whether the program fails for another reason than memory.
        shortage: what a GPU had no room for; None where that is not why it does not fit.
    """

    what: str
    value: int = 0
    fits: bool = False
    peaks: Mapping[str, int] = field(default_factory=dict)
    transferred: int = 0
    reason: str = ""
    placement: Placement | None = None
    seconds: float = 0.0
    is_tried: bool = True
    fails: bool = False
    shortage: Shortage | None = None

    @property
    def lever(self) -> Message:
        """Returns what the lever is called."""
        if self.what == "batch":
            return message("batch of {count}", count=str(self.value)) if self.is_tried else message("smaller batch")
        if self.what == "gpus":
            return message("{count} GPUs", count=str(self.value))
        if self.what == "quantization":
            return message("weights in {bits} bits", bits=self.value) if self.is_tried else message("quantization")
        return message("gradient checkpointing")


@dataclass
class PlanResult:
    """What a plan came to.

    Attributes:
        gpus: the memory of each GPU in bytes.
        measured: the model, block by block; None where the plan was interrupted before.
        as_it_is: the program with its own map.
        planned: the program with the planned map.
        levers: what else was tried.
        smallest: bytes that each GPU would need for a map to fit, where none does; 0 elsewhere.
        rooms: bytes that each GPU has for tensors.
        whole: bytes at the peak of one GPU without a limit that has all of it; 0 where that is not known.
        is_partial: whether the plan was interrupted, so that the end of it is left out.
    """

    gpus: list[int]
    measured: Measured | None
    as_it_is: Tried
    planned: Tried
    levers: list[Tried] = field(default_factory=list)
    smallest: int = 0
    rooms: list[int] = field(default_factory=list)
    whole: int = 0
    is_partial: bool = False

    @property
    def fits(self) -> bool:
        """Returns whether it fits these GPUs without a lever."""
        return self.planned.fits or self.as_it_is.fits
