"""Amounts of memory as people write them: ``24GiB``, ``512MiB``, ``80GB``."""

from __future__ import annotations

import re

from devsan.errors import UsageError

# Powers of 1000 and of 1024 are both in use and differ by 7 % at a gigabyte, so a unit is always asked for.
_UNITS = {
    "B": 1,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "TB": 1000**4,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
    "TiB": 1024**4,
}
_BY_LOWER_CASE = {unit.lower(): factor for unit, factor in _UNITS.items()}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_LARGEST = 2**63 - 1  # torch and the core count bytes in an int64


def read_size(text: str) -> int:
    """Returns the bytes that ``text`` stands for.

    Raises:
        UsageError: there is no unit, the unit is unknown, or the amount does not fit 64 bits.
    """
    expected = "a size such as 24GiB or 512MiB"
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(expected, repr(text))
    number, unit = match.groups()
    factor = _BY_LOWER_CASE.get(unit.lower())
    if factor is None and number.strip("0.") == "":
        factor = 1  # nothing is nothing in every unit
    if factor is None:
        raise UsageError(expected, repr(text), number + _nearest_unit(unit))
    whole, _, fraction = number.partition(".")
    # Integers throughout: a float loses bytes from 2**53 on.
    amount = int(whole) * factor + (int(fraction) * factor // 10 ** len(fraction) if fraction else 0)
    if amount > _LARGEST:
        raise UsageError("a size of at most 8388607TiB", repr(text))
    return amount


def nearest_size(text: str) -> str | None:
    """Returns the size that ``text`` is meant as, a number with a unit or a letter of one; None where it is no size."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2][:1].upper() not in {"K", "M", "G", "T"}:
        return None
    return match[1] + (match[2] if match[2].lower() in _BY_LOWER_CASE else _nearest_unit(match[2]))


def write_size(amount: int) -> str:
    """Returns ``amount`` bytes in the largest unit that holds it exactly; ``read_size`` reads it back."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if amount >= _UNITS[unit] and amount % _UNITS[unit] == 0:
            return f"{amount // _UNITS[unit]}{unit}"
    return f"{amount}B"


def say_size(amount: int) -> str:
    """Returns ``amount`` bytes as the core writes them in sentences: "12.74 GiB"."""
    unit = next((each for each in ("GiB", "MiB", "KiB") if amount > _UNITS[each]), "")
    return f"{amount / _UNITS[unit]:.2f} {unit}" if unit else f"{amount} bytes"


def _nearest_unit(unit: str) -> str:
    """The binary unit with the same first letter: 24, 24G and 24Gb are all meant as 24GiB by most people."""
    letter = unit[:1].upper()
    return f"{letter}iB" if letter in ("K", "M", "G", "T") else "GiB"
