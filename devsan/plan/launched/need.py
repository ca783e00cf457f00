"""What a way of sharing needs of a GPU, as it is rehearsed where memory is no limit."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from devsan.errors import DevsanError
from devsan.fix.experiment import Laboratory
from devsan.plan.launched.configuration import Configuration
from devsan.plan.shortage import sizes_of
from devsan.run_files.reader import read_run


@dataclass(frozen=True)
class Held:
    """What a GPU holds when it holds the most.

    Attributes:
        device: the GPU, "cuda:0".
        allocated: bytes in tensors and workspaces.
        parts: of them, by kind, the largest first.
    """

    device: str
    allocated: int
    parts: Mapping[str, int]


@dataclass(frozen=True)
class Need:
    """What a configuration needs of its fullest GPU.

    Attributes:
        configuration: that was rehearsed.
        held: by that GPU.
        room: bytes that it has for tensors.
    """

    configuration: Configuration
    held: Held
    room: int


class AccountingLaboratory(Laboratory):
    """A laboratory that tells who held the memory, too."""

    def fullest(self) -> Held | None:
        """Returns what the GPU held that held the most in a run so far; None where no run used any."""
        found = [Held("", 0, {})]
        for path in self._folder.glob("*/*.dvs"):
            with contextlib.suppress(DevsanError):  # a rank that was stopped
                for peak in read_run(str(path))["memory"]["peaks"]:
                    found.append(Held(peak["device"], peak["allocated"], sizes_of(peak)))
        fullest = max(found, key=lambda held: held.allocated)
        return fullest if fullest.allocated else None
