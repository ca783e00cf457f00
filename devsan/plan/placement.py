"""A map of a model's blocks, as the core solves for it from what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from devsan import core
from devsan.blocks.measured import INPUTS, Measured

VAST = 1 << 43
"""Bytes of a GPU on which everything fits."""

_STEPS_TO_SMALLEST = 24


@dataclass(frozen=True)
class Placement:
    """Which GPU has which block.

    Attributes:
        device_map: by block, the ordinal of its GPU, in the order in which they run; accelerate and transformers take
            it as it is.
        peaks: by GPU, the bytes that it is expected to hold at most.
        transferred: bytes between GPUs in one pass over the model, backward among it.
    """

    device_map: dict[str, int]
    peaks: list[int]
    transferred: int


def place(measured: Measured, budgets: Sequence[int]) -> Placement | None:
    """Returns the best placement (core/plan/solve.h); None where nothing fits.

    Args:
        measured: the model.
        budgets: bytes that each GPU has for tensors.
    """
    gradients = sum(block.gradients for block in measured.blocks) or 1
    beside = len(measured.blocks)
    blocks = [
        (block.parameters + block.buffers + block.optimizer_state, block.gradients, block.activations,
         block.forward_extra, block.backward_extra, measured.step_extra * block.gradients // gradients, block.is_pinned)
        for block in measured.blocks
    ]  # fmt: skip
    edges = [
        (first, second, size // measured.passes)
        for first, second, size in measured.edges
        if INPUTS <= first < beside and first != second
    ]
    found = core.plan_blocks(blocks, edges, list(budgets), measured.trains, measured.keeps_gradients)
    if found is None:
        return None
    gpus, peaks, transferred = found
    return Placement(dict(zip(measured.keys, gpus, strict=True)), list(peaks), transferred)


def room(total_memory: int) -> int:
    """Returns the bytes of a GPU that tensors can have: what CUDA's context leaves of it."""
    return total_memory - core.context_bytes(total_memory)


def smallest(measured: Measured, count: int) -> int:
    """Returns the bytes of each of so many equal GPUs with which a map fits, to the next MiB."""
    low, high = 0, max(2 * measured.size, 1)
    while place(measured, [room(high)] * count) is None and high < VAST:
        low, high = high, 2 * high
    for _ in range(_STEPS_TO_SMALLEST):
        middle = (low + high) // 2
        if place(measured, [room(middle)] * count) is None:
            low = middle
        else:
            high = middle
    return high
