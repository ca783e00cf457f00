"""What a rehearsal has measured of a model, block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

INPUTS = -1


@dataclass
class Block:
    """A part of the model that a plan never cuts. Sizes are bytes.

    Attributes:
        path: of its module; of a parameter or a buffer that stands beside the blocks; "" for the whole model.
        type: the name of its class.
        parameters: of those that no earlier block has.
        buffers: likewise.
        gradients: as they were before an optimizer's step.
        optimizer_state: of these parameters.
        activations: what its forward passes leave until the backward pass, or until the end where there is none.
        forward_extra: what they take for a moment, above what is there afterwards.
        backward_extra: what its backward pass takes for a moment, above what is there before.
        is_pinned: whether it is tied to another block, so that both stay with the inputs.
        calls: how often it ran.
    """

    path: str
    type: str
    parameters: int = 0
    buffers: int = 0
    gradients: int = 0
    optimizer_state: int = 0
    activations: int = 0
    forward_extra: int = 0
    backward_extra: int = 0
    is_pinned: bool = False
    calls: int = 0


@dataclass
class Names:
    """What an entry of a map can name.

    Attributes:
        modules: paths, the whole model "" among them.
        tensors: parameters and buffers, each with what else the same parameter is called, itself first.
    """

    modules: list[str]
    tensors: list[list[str]]

    def has(self, key: str) -> bool:
        """Returns whether a module or a tensor is called so."""
        return key in self.modules or any(key in alike for alike in self.tensors)


@dataclass
class Measured:
    """What was measured.

    Attributes:
        model: the name of the model's class.
        blocks: in the order in which they first ran.
        edges: the ordinal of the block that makes tensors (``INPUTS``: the program), of the one that takes them
            (the number of blocks: the program), and their bytes in all passes, backward among them.
        passes: how often the model ran.
        trains: whether there was a backward pass.
        keeps_gradients: whether gradients were there during a forward pass.
        step_extra: what the optimizer took for a moment, beside its state.
        tied: groups of blocks that share a parameter.
    """

    model: str
    blocks: list[Block]
    edges: list[tuple[int, int, int]] = field(default_factory=list)
    passes: int = 0
    trains: bool = False
    keeps_gradients: bool = False
    step_extra: int = 0
    tied: list[list[int]] = field(default_factory=list)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Measured:
        """Returns what JSON has kept."""
        blocks = [Block(**each) for each in plain["blocks"]]
        edges = [(int(first), int(second), int(size)) for first, second, size in plain["edges"]]
        return cls(**{**plain, "blocks": blocks, "edges": edges})

    @property
    def size(self) -> int:
        """Returns the bytes of parameters and buffers."""
        return sum(block.parameters + block.buffers for block in self.blocks)

    @property
    def keys(self) -> Sequence[str]:
        """Returns the entries of a map of it."""
        return [block.path for block in self.blocks]
