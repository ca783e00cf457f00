"""Bytes, counts and times as the page writes them."""

from __future__ import annotations

import math

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def amount(size: float) -> str:
    """Returns ``size`` bytes in a unit that leaves one to four figures before the point: "13.5 GiB"."""
    unit = 0
    while abs(size) >= 1024 and unit < len(_UNITS) - 1:
        size /= 1024
        unit += 1
    if unit == 0:
        return f"{size:.0f}\N{NO-BREAK SPACE}B"
    return f"{size:.{0 if size >= 100 else 1}f}".removesuffix(".0") + f"\N{NO-BREAK SPACE}{_UNITS[unit]}"


def plain_amount(size: float) -> str:
    """Returns ``amount``, with a blank that may break: for a terminal."""
    return amount(size).replace("\N{NO-BREAK SPACE}", " ")


def seconds(duration: float) -> str:
    """Returns a duration in seconds in a unit that people read: "0.8 ms", "12.4 s", "3 min 5 s", "2 h 1 min"."""
    if duration < 1e-3:
        return f"{duration * 1e6:.0f} us"
    if duration < 1:
        return f"{duration * 1e3:.3g} ms"
    if duration < 60:
        return f"{duration:.3g} s"
    whole = round(duration)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def nice_steps(largest: float, binary: bool = False) -> list[float]:
    """Returns a few round values from 0 up to at most ``largest``, for an axis.

    Args:
        largest: the end of the axis.
        binary: round in units of 1024 and not of ten.
    """
    if largest <= 0:
        return [0.0]
    step = 2.0 ** math.floor(math.log2(largest)) if binary else 10.0 ** math.floor(math.log10(largest))
    factors = (1 / 4, 1 / 2, 1, 2) if binary else (0.1, 0.2, 0.5, 1)
    step *= next((factor for factor in factors if largest / (step * factor) <= 5), factors[-1])
    return [number * step for number in range(int(largest / step + 1e-9) + 1)]
