"""What the plan of a launched job came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from devsan.plan.launched.configuration import Configuration
from devsan.plan.launched.need import Need
from devsan.plan.shortage import Shortage


@dataclass(frozen=True)
class Tried:
    """A rehearsal of one configuration.

    Attributes:
        configuration: that was rehearsed.
        fits: whether the job came to its end with nothing wrong.
        peaks: bytes that were allocated at most, by GPU ("cuda:0").
        host: bytes of host memory that CPU tensors take, of all ranks together.
        sent: bytes that the collectives of the rank send that sends most, in the whole run.
        seconds: that it took.
        reason: why it does not fit; "" where it does.
        fails: whether the program fails for another reason than memory.
        shortage: what a GPU had no room for; None where that is not why it does not fit.
    """

    configuration: Configuration
    fits: bool = False
    peaks: Mapping[str, int] = field(default_factory=dict)
    host: int = 0
    sent: int = 0
    seconds: float = 0.0
    reason: str = ""
    fails: bool = False
    shortage: Shortage | None = None

    @property
    def peak(self) -> int:
        """Returns the bytes on the fullest GPU."""
        return max(self.peaks.values(), default=0)

    @property
    def cost(self) -> tuple[int, int, int]:
        """Returns by what two that fit are compared: nothing on the host, then fewer bytes sent, then emptier GPUs."""
        return self.configuration.strategy.offloads, self.sent, self.peak


@dataclass(frozen=True)
class LaunchPlan:
    """What a plan came to.

    Attributes:
        script: the program.
        gpus: the memory of each GPU in bytes.
        tried: each strategy, as it was rehearsed.
        levers: what else was tried.
        needs: where nothing fits, what those need that may need the least.
        count: how many strategies there are.
        is_partial: whether the plan was interrupted, so that rows are left out.
    """

    script: str
    gpus: Sequence[int]
    tried: Sequence[Tried]
    levers: Sequence[Tried] = ()
    needs: Sequence[Need] = ()
    count: int = 0
    is_partial: bool = False

    @property
    def best(self) -> Tried | None:
        """Returns the cheapest that fits; a lever only where nothing else does."""
        for rows in (self.tried, self.levers):
            fitting = [each for each in rows if each.fits]
            if fitting:
                return min(fitting, key=lambda each: each.cost)
        return None

    @property
    def fits(self) -> bool:
        """Returns whether it fits these GPUs without a lever."""
        return any(each.fits for each in self.tried)
