"""The memory of usual calls on tensors of some MiB: forward, and backward where there is one.

A call runs once before it is measured, so that what a library keeps from its first call on is there already. The
emulation computes the numbers: what a mask selects is then as much as on the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from allocated import begin, taken, warm
from calls import choices, losses, reductions
from layers import algebra, convolutions, layers, steps

FAMILIES = (losses, reductions, choices, layers, convolutions, algebra, steps)


def rows(scratch: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    import torch

    if not torch.cuda.is_initialized():
        warm()
    for title, make in chain(*(each() for each in FAMILIES)):
        yield title, partial(_measured, make)


def _measured(make: Callable[[], Callable[[], Any]]) -> dict[str, Any]:
    import torch
    from conformance.placing import tensors

    torch.manual_seed(0)
    call = make()
    said: dict[str, Any] = {}
    for _ in range(2):
        said = {}
        before = begin()
        try:
            result = call()
            said["peak"], said["kept"] = taken(before)
            leaves = [x for x in tensors(result) if x.requires_grad and x.grad_fn is not None]
            if leaves:
                weights = [torch.ones_like(leaf) for leaf in leaves]
                before = begin()
                torch.autograd.backward(leaves, weights)
                said["backward peak"], said["backward kept"] = taken(before)
                del weights
            del result, leaves
        except RuntimeError as error:
            said["error"] = str(error).splitlines()[0]
    return said


def compared(real: dict[str, Any], emulated: dict[str, Any]) -> tuple[list[str], int, str]:
    """A line for each call that takes another amount, the largest differences first."""
    found = []
    for title, theirs in real.items():
        ours = emulated.get(title)
        if not isinstance(theirs, dict) or not isinstance(ours, dict) or "error" in theirs or "error" in ours:
            if theirs != ours:
                found.append((float("inf"), f"{title}\n  GPU:       {theirs}\n  emulation: {ours}"))
            continue
        apart = max((abs(ours.get(name, 0) - figure) for name, figure in theirs.items()), default=0)
        if apart:
            found.append((apart, f"{title}\n  GPU:       {theirs}\n  emulation: {ours}"))
    exact = len(real) - len(found)
    small = sum(1 for apart, _ in found if apart <= 1 << 16)
    texts = [text for _, text in sorted(found, key=lambda pair: -pair[0])]
    return (
        texts,
        len(texts),
        f"{len(real)} calls, {exact} equal to the byte, {small} within 64 KiB, {len(found) - small} not",
    )
