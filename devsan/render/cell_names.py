"""The cells of a group in few words: those that differ in their last value stand together."""

from __future__ import annotations

from collections.abc import Sequence


def together(names: Sequence[str]) -> list[tuple[str, int]]:
    """Returns ``names`` with cells that differ in their last value as one, and how many cells each stands for.

    Args:
        names: of cells, such as "model=a gpus=2" and "model=a gpus=4", which become "model=a gpus=2,4".
    """
    found: dict[tuple[str, str], list[str]] = {}
    for name in names:
        rest, _, last = name.rpartition(" ")
        axis, equals, value = last.partition("=")
        key = (rest, axis) if rest and equals else (name, "")
        found.setdefault(key, []).append(value)
    return [
        (f"{rest} {axis}={','.join(values)}" if axis else rest, len(values)) for (rest, axis), values in found.items()
    ]
