"""What a process shows of itself while it runs: NOTE [Gauges] in core/memory/gauges.h, read from outside."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

_FORMAT = 0x31304741535644
_TIMES = 32
_GPUS = 64
_WORDS = struct.Struct(f"={2 + _TIMES + 3 * _GPUS}Q")


@dataclass(frozen=True)
class Memory:
    """What a process holds of one GPU, in bytes.

    Attributes:
        allocated: by tensors.
        reserved: by torch's allocator, in use or cached.
        used: with the CUDA context, as nvidia-smi counts.
    """

    allocated: int
    reserved: int
    used: int


@dataclass(frozen=True)
class Gauges:
    """What a process shows.

    Attributes:
        steps: how many its optimizers have made.
        per_minute: how many steps a minute, of the last 32; None before the second.
        gpus: by its own numbers for them.
    """

    steps: int
    per_minute: float | None
    gpus: tuple[Memory, ...]


def read(path: str) -> Gauges | None:
    """Returns what is in the file ``path``; None where there is none, or one of another version of DevSan."""
    try:
        with open(path, "rb") as file:
            text = file.read(_WORDS.size + 1)
    except OSError:
        return None
    if len(text) != _WORDS.size:
        return None
    form, steps, *words = _WORDS.unpack(text)
    if form != _FORMAT:
        return None
    rows = words[_TIMES:]
    gpus = tuple(Memory(*rows[start : start + 3]) for start in range(0, len(rows), 3))
    return Gauges(steps, _rate(steps, words[:_TIMES], time.monotonic_ns()), gpus)


def _rate(steps: int, times: list[int], now: int) -> float | None:
    """Steps a minute, of those whose times are known. A program that has stopped stepping becomes slower and slower."""
    known = min(steps, _TIMES)
    if known < 2:
        return None
    first, last = times[(steps - known) % _TIMES], times[(steps - 1) % _TIMES]
    each = max((last - first) / (known - 1), (now - first) / known)
    return 60e9 / each if each > 0 else None
