"""The ways to share a job between its ranks that are tried."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Strategy:
    """A way to share.

    Attributes:
        name: as people call it.
        stage: of ZeRO; 0 shares nothing.
        is_fsdp: whether torch's fully_shard does it, and not DeepSpeed.
        offloads: how much is kept in host memory: 0 nothing, 1 the optimizer, 2 the parameters, too.
    """

    name: str
    stage: int
    is_fsdp: bool = False
    offloads: int = 0

    @property
    def is_ddp(self) -> bool:
        """Returns whether each rank has everything."""
        return self.stage == 0


DDP = Strategy("DDP", 0)
FSDP2 = Strategy("FSDP2", 3, is_fsdp=True)
ZERO_3 = Strategy("ZeRO-3", 3)
LEANEST = Strategy("ZeRO-3, optimizer and parameters on the host", 3, offloads=2)

STRATEGIES = (
    DDP, Strategy("ZeRO-1", 1), Strategy("ZeRO-2", 2), FSDP2, ZERO_3,
    Strategy("ZeRO-2, optimizer on the host", 2, offloads=1), Strategy("ZeRO-3, optimizer on the host", 3, offloads=1),
    LEANEST,
)  # fmt: skip
"""In the order in which they are tried."""
