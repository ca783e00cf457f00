"""A GPU's memory as a bar: "#" for what is allocated, "=" for the rest of what is taken, "." for what is free."""

from __future__ import annotations


def bar(allocated: int, taken: int, total: int, cells: int) -> str:
    """Returns the bar, in brackets: ``cells`` + 2 columns.

    A cell is shown as soon as something of it is taken: a GPU that is in use is not shown as an empty one.

    Args:
        allocated: bytes.
        taken: bytes, those allocated included: cached, contexts, other programs.
        total: bytes of the GPU.
        cells: between the brackets.
    """
    filled = min(cells, -(-cells * taken // max(total, 1)))
    full = min(filled, cells * allocated // max(total, 1))
    return f"[{'#' * full}{'=' * (filled - full)}{'.' * (cells - filled)}]"
