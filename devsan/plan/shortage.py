"""A GPU that had no room left in a rehearsal: when, for what, and who held its memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from devsan.fix.outcome import Outcome

_BESIDE = ("fragmentation", "context")
"""What a GPU has no room for beside what is allocated; without a limit of memory it is another than with one."""


@dataclass(frozen=True)
class Shortage:
    """What was refused first. Sizes are bytes.

    Attributes:
        device: the GPU, "cuda:0".
        phase: what the program was doing, as docs/reference/run.schema.json has it.
        missing: of this one request; what comes behind it is not known.
        allocated: in tensors and workspaces at that moment.
        parts: of it, by kind, the largest first.
    """

    device: str
    phase: str
    missing: int
    allocated: int
    parts: Mapping[str, int]


def shortage_of(outcome: Outcome) -> Shortage | None:
    """Returns what ``outcome`` was refused; None where no GPU ran out of memory, or nobody kept account of it."""
    for finding in outcome.findings:
        held = finding.get("memory")
        if held:
            missing = max(held["tried"] - held["free"], 0)
            return Shortage(held["device"], finding["phase"], missing, held["allocated"], sizes_of(held))
    return None


def sizes_of(held: Mapping[str, Any]) -> dict[str, int]:
    """Returns the bytes of each kind of what is allocated on a GPU, the largest first."""
    return {part["kind"]: part["bytes"] for part in held["parts"] if part["kind"] not in _BESIDE}
