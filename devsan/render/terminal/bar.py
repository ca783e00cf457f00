"""A GPU's memory as a bar: "#" for what is allocated, "=" for the rest of what is taken, "." for what is free.

Where it is known who holds what is allocated, each holder has a sign of its own in the place of "#".
"""

from __future__ import annotations

from collections.abc import Iterable

REST, FREE = "=", "."


def bar(allocated: int, taken: int, total: int, cells: int) -> str:
    """Returns the bar, in brackets: ``cells`` + 2 columns.

    A cell is shown as soon as something of it is taken: a GPU that is in use is not shown as an empty one.

    Args:
        allocated: bytes.
        taken: bytes, those allocated included: cached, contexts, other programs.
        total: bytes of the GPU.
        cells: between the brackets.
    """
    return split_bar([("#", allocated)], taken, total, cells)


def split_bar(parts: Iterable[tuple[str, int]], taken: int, total: int, cells: int) -> str:
    """Returns the bar with what is allocated split into ``parts``: the sign of each, and its bytes."""
    filled = min(cells, -(-cells * taken // max(total, 1)))
    shown, held = "", 0
    for sign, size in parts:
        held += size
        shown += sign * (min(filled, cells * held // max(total, 1)) - len(shown))
    return f"[{shown}{REST * (filled - len(shown))}{FREE * (cells - filled)}]"
