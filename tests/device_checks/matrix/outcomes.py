"""What the emulation, or a real GPU, says to every call of the matrix."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .arrangements import Arrangement, arrangements
from .schema import Call

# Sentences about devices, whoever says them.
DEVICES = re.compile(r"device|Trying to pass too many CPU scalars|type \(torch\.")


def outcome(call: Call, arrangement: Arrangement) -> str:
    """The first line of the error, empty if there is none."""
    places = iter(range(len(call.operands)))

    def place(_: object, tensor: torch.Tensor) -> torch.Tensor:
        number = next(places)
        return arrangement.tensor(number, tensor).to(arrangement.device(number))

    values = call.mapped(place)
    try:
        with torch.no_grad():
            call.run(values)
    except Exception as error:
        return str(error).split("\n", 1)[0] or type(error).__name__
    return ""


def agrees(kind: str, expected: str, got: str) -> bool:
    """Whether `got` is what CUDA says. Where torch's own code raises another error (sizes), so may the other."""
    if kind == "late":  # where the kernel takes the made-up arguments at all
        return got == expected or (got != "" and not DEVICES.search(got))
    if kind == "refused" or (kind == "error" and DEVICES.search(expected)):
        return got == expected
    if kind == "error":
        return got != "" and not DEVICES.search(got)
    return not DEVICES.search(got)


@dataclass(frozen=True)
class Difference:
    operator: str
    operand: str
    arrangement: str
    expected: str
    got: str

    def __str__(self) -> str:
        return (
            f"aten::{self.operator}, {self.operand}: {self.arrangement}\n  expected: {self.expected or 'accepted'}\n"
            f"  got:      {self.got or 'accepted'}"
        )


def compare(
    calls: dict[str, Call], expected: dict[str, list[Any]], only: Callable[[Arrangement], bool] = lambda _: True
) -> tuple[Counter[str], list[Difference]]:
    """Runs every call; counts the arrangements by kind, and gives those that differ."""
    counts: Counter[str] = Counter()
    differences = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in calls.items():
            for arrangement, (kind, message) in zip(arrangements(call), expected[name], strict=True):
                if not only(arrangement):
                    continue
                counts[kind] += 1
                if kind == "unknown":
                    continue
                got = outcome(call, arrangement)
                if not agrees(kind, message, got):
                    operand = call.operands[arrangement.operand].name
                    differences.append(Difference(name, operand, arrangement.title, message, got))
    return counts, differences
