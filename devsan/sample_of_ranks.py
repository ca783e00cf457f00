"""A sample of the ranks of a launch: how it is written, and which ranks of which world it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from devsan.errors import UsageError

VARIABLE = "DEVSAN_SAMPLE"
"""Set by a launcher in the ranks that it starts as a sample: which ranks of how many, "0,511/512"."""

LAUNCHERS = "torchrun, python -m torch.distributed.run or accelerate launch"
"""Those that can start a sample."""

Range = tuple[int, int]
"""The first and the last of some ranks; negative numbers count from the end, as Python's indices do."""

_NAMES = {"first": 0, "last": -1}


@dataclass(frozen=True)
class Sample:
    """Those ranks of a launch that run.

    Attributes:
        ranks: in ascending order.
        world_size: how many ranks the whole launch has.
    """

    ranks: tuple[int, ...]
    world_size: int

    def as_text(self) -> str:
        """Returns it as `VARIABLE` has it: "0,511/512"."""
        return f"{','.join(map(str, self.ranks))}/{self.world_size}"


def from_text(text: str) -> Sample | None:
    """Returns what ``Sample.as_text`` wrote; None for an empty text."""
    ranks, _, world_size = text.partition("/")
    return Sample(tuple(map(int, ranks.split(","))), int(world_size)) if world_size else None


def read_ranks(text: str) -> tuple[Range, ...]:
    """Returns what ``0,7``, ``0-3,511``, ``first,last`` and ``-1`` say.

    Raises:
        UsageError: it is none of these.
    """
    return tuple(_read_range(item.strip(), text) for item in text.split(","))


def write_ranks(ranges: Sequence[Range]) -> str:
    """Returns the text that `read_ranks` reads as ``ranges``."""
    return ",".join(_write(first) if first == last else f"{_write(first)}-{_write(last)}" for first, last in ranges)


def chosen(ranges: Sequence[Range], world_size: int) -> Sample:
    """Returns the ranks of a launch that ``ranges`` choose.

    Raises:
        UsageError: the launch has no such rank.
    """
    ranks: set[int] = set()
    for first, last in ranges:
        low, high = (number + world_size if number < 0 else number for number in (first, last))
        if not 0 <= low <= high < world_size:
            raise UsageError(f"--ranks of 0 to {world_size - 1}, which the launch has", write_ranks([(first, last)]))
        ranks.update(range(low, high + 1))
    return Sample(tuple(sorted(ranks)), world_size)


def _read_range(item: str, text: str) -> Range:
    first, hyphen, last = item[1:].partition("-")  # the first character may be a minus
    ends = [item[:1] + first, last] if hyphen else [item]
    numbers = [_read(end.strip()) for end in ends]
    if any(number is None for number in numbers):
        raise UsageError("ranks such as 0,7, 0-3, first or last", repr(text))
    low, high = numbers[0], numbers[-1]
    assert low is not None and high is not None
    if (low < 0) == (high < 0) and low > high:
        raise UsageError("a range of ranks from the lower to the higher", repr(item), repr(f"{ends[-1]}-{ends[0]}"))
    return low, high


def _read(text: str) -> int | None:
    if text in _NAMES:
        return _NAMES[text]
    return int(text) if text.removeprefix("-").isdecimal() else None


def _write(number: int) -> str:
    return "last" if number == -1 else str(number)
