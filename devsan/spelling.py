"""Which of the known names a word was meant as."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import SequenceMatcher

_LETTERS_OF_A_SLIP = 8  # a second slip is allowed in a word of so many letters, a third in one of twice as many

_HARDLY = 0.03  # of the letters of two words


def nearest(word: str, choices: Iterable[str], alike: float = 0.5) -> str | None:
    """Returns the choice that is spelled most like ``word``, or None where nothing comes close, or two equally.

    Capitals count only between choices that are otherwise equally near. A slip is nearer than anything else; what is no
    slip may be an abbreviation.

    Args:
        word: what was written.
        choices: the names that are known.
        alike: how much of a word and a choice has to be the same, from 0 to 1, where it is no slip.
    """
    known = list(dict.fromkeys(choices))
    folded = word.lower()
    slips = sorted((distance(folded, each.lower()), distance(word, each), each) for each in known)
    if slips and slips[0][0] <= 1 + len(word) // _LETTERS_OF_A_SLIP and slips[0][0] < len(slips[0][2]):
        return slips[0][2] if len(slips) == 1 or slips[0][:2] < slips[1][:2] else None
    ratios = sorted(((SequenceMatcher(None, folded, each.lower()).ratio(), each) for each in known), reverse=True)
    if not ratios or ratios[0][0] < alike or (len(ratios) > 1 and ratios[0][0] == ratios[1][0]):
        return None
    return ratios[0][1]


def nearest_ones(word: str, choices: Iterable[str], least: float) -> list[str]:
    """Returns the choices that are spelled most like ``word``, the nearest first: several where they hardly differ.

    Args:
        word: what was written.
        choices: the names that are known.
        least: how much of a word and the first of them has to be the same, from 0 to 1.
    """
    ratios = sorted(((SequenceMatcher(None, word, each).ratio(), each) for each in set(choices)), reverse=True)
    return [each for ratio, each in ratios if ratios[0][0] >= least and ratio >= ratios[0][0] - _HARDLY]


def nearest_script(path: str) -> str | None:
    """Returns the Python file that is meant by ``path``, which is none, in the same folder; None where none is near."""
    folder, name = os.path.split(path)
    try:
        there = [each.removesuffix(".py") for each in os.listdir(folder or os.curdir) if each.endswith(".py")]
    except OSError:  # there is no such folder either
        return None
    near = nearest(name.removesuffix(".py"), there, 0.7)  # the ending, which they share, tells nothing
    return near and os.path.join(folder, f"{near}.py")


def distance(one: str, other: str) -> int:
    """Returns how many letters have to be put in, taken out, changed, or swapped with their neighbor."""
    rows = [list(range(len(other) + 1))]
    for number, letter in enumerate(one, 1):
        row = [number]
        for at, wanted in enumerate(other, 1):
            cost = min(rows[-1][at] + 1, row[-1] + 1, rows[-1][at - 1] + (letter != wanted))
            if number > 1 and at > 1 and letter == other[at - 2] and one[number - 2] == wanted:
                cost = min(cost, rows[-2][at - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
