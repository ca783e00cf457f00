"""A row of the module tree: a module with its tensors and what is below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Tensor:
    """A parameter or a buffer. ``strayed``: it is on another device than its module; ``offloaded``: kept elsewhere."""

    name: str
    device: str
    dtype: str = ""
    bytes: int = 0
    is_buffer: bool = False
    strayed: bool = False
    offloaded: bool = False


@dataclass(frozen=True)
class Node:
    """A module, or several siblings that are alike.

    Attributes:
        name: within its parent: "layers", "0"; of several "0-15".
        type: of the module's class.
        home: the device that its hook or the map names, or where most of its bytes are; "" when it has none.
        tensors: its own.
        hooks: in words: "AlignDevicesHook -> cuda:0".
        count: of siblings that this row stands for.
        shares: bytes on each device, all below and all siblings included.
        modules: of this row, all below and all siblings included.
        strayed: tensors that are not with their module, all below and all siblings included.
        offloaded: whether all its tensors, those below included, are kept elsewhere and fetched for each call.
        hidden: modules below that the row does not show.
        failed: whether the operator that failed ran in its forward, and in no module below.
    """

    name: str
    type: str
    home: str = ""
    tensors: tuple[Tensor, ...] = ()
    hooks: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()
    count: int = 1
    shares: Mapping[str, int] = field(default_factory=dict)
    modules: int = 1
    strayed: int = 0
    offloaded: bool = False
    hidden: int = 0
    failed: bool = False

    @property
    def bytes(self) -> int:
        """Of all tensors, those below included."""
        return sum(self.shares.values())

    @property
    def is_open(self) -> bool:
        """Whether the tree shows what is below from the start: where devices part, or what is said of them."""
        homes = {child.home for child in self.children}
        if self.holds_failed:
            return True
        return bool(self.children) and (len(self.shares) > 1 or (self.strayed > 0 and len(homes) > 1))

    @property
    def holds_failed(self) -> bool:
        """Whether the module that failed is below."""
        return any(child.failed or child.holds_failed for child in self.children)
