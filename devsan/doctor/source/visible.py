"""CUDA_VISIBLE_DEVICES as far as the source says it: how many GPUs a process sees, and whether all ranks see these."""

from __future__ import annotations

from dataclasses import dataclass

from devsan.cuda.visible_devices import visible_devices

_MANY = ("",) * 1024  # GPUs of a machine that is not known


@dataclass(frozen=True)
class Visible:
    """The value of a process.

    Attributes:
        text: the value; None where it is not known, or where there is none.
        shared: True: every rank has the same; False: each has its own; None: not known.
    """

    text: str | None = None
    shared: bool | None = None

    @property
    def count(self) -> int | None:
        """How many GPUs it names, of which a machine may have fewer; None where that is not known."""
        if self.text is None:
            return None
        if self.text.startswith(("GPU-", "MIG-")):
            return len(self.text.split(","))
        return len(visible_devices(self.text, _MANY))

    def joined(self, other: Visible) -> Visible:
        """Returns what is known after two paths meet."""
        if self == other:
            return self
        return Visible(None, self.shared if self.shared == other.shared else None)


UNSET = Visible(None, True)


@dataclass(frozen=True)
class Launched:
    """What is known of the launch.

    Attributes:
        ranks: of all machines together; 0 where it is not known.
        visible: CUDA_VISIBLE_DEVICES that the program starts with.
    """

    ranks: int = 0
    visible: Visible = UNSET


UNLAUNCHED = Launched()
