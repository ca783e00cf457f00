"""Who holds the memory of a GPU that is full, as far as a report draws it: a part of core/model/held_memory.h."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MemoryPart:
    """All memory of one kind: "parameter", "gradient", "activation", ... in bytes."""

    kind: str
    bytes: int


@dataclass(frozen=True)
class HeldMemory:
    """The memory of one GPU, in bytes.

    Attributes:
        device: which one.
        total: of it.
        free: of it.
        allocated: in tensors and workspaces of this process.
        parts: of what is allocated, the largest first.
    """

    device: str
    total: int
    free: int
    allocated: int
    parts: tuple[MemoryPart, ...] = ()
