"""Options of devsan's own that stand behind the program, where they are the program's.

NOTE [Whose option] What stands behind the program is passed on to it, whatever it is. If it was meant for devsan, the
rehearsal is silently another one. So it is told, unless

- the program names the option in its text, or in that of the modules beside it (devsan/cli/source.py);
- devsan would not understand the option either: it has no value, or a value of another program's;
- a ``--`` stands before it.

A program that leaves its options to a library looks like one that has none. So the sentence tells where the option
went, and what to type if it was meant for devsan; it does not say that anything is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from devsan.cli import source
from devsan.errors import UsageError, tell

Readers = Mapping[str, Callable[[str], object] | None]
"""By spelling, what reads an option's value (UsageError or ValueError if it is none); None for one without a value."""


@dataclass(frozen=True)
class Misplaced:
    """Words apart: options with their values, the spellings of these options, and the other words in their order."""

    options: list[str]
    spellings: list[str]
    others: list[str]

    def tell(self, behind: str, line: str) -> None:
        """Says that the options stand behind something, and the line to type instead."""
        if len(self.spellings) == 1:
            where = f"{self.spellings[0]} comes after {behind} and is passed to it; if it is"
        else:
            listed = f"{', '.join(self.spellings[:-1])} and {self.spellings[-1]}"
            where = f"{listed} come after {behind} and are passed to it; if they are"
        tell(f"{where} meant for devsan, run: {line}")


def find(words: Sequence[str], readers: Readers, texts: Iterable[str]) -> Misplaced | None:
    """Looks for options of devsan's own behind a program; None if there are none, or the program's text is not known.

    Args:
        words: what stands behind the program.
        readers: the options.
        texts: of the program, read only if there is something to look for in them.
    """
    there = {words[at].partition("=")[0]: None for at, _ in _places(words, readers)}
    known = False
    for text in texts if there else ():
        known = True
        there = {spelling: None for spelling in there if not source.names(text, spelling)}
    return apart(words, {each: readers[each] for each in there}) if there and known else None


def apart(words: Sequence[str], readers: Readers) -> Misplaced:
    """Takes options, with their values, from among words."""
    taken: dict[int, str] = {}
    spellings: dict[str, None] = {}
    for at, length in _places(words, readers):
        spellings[words[at].partition("=")[0]] = None
        taken.update(enumerate(words[at : at + length], at))
    return Misplaced(list(taken.values()), list(spellings), [w for at, w in enumerate(words) if at not in taken])


def _places(words: Sequence[str], readers: Readers) -> Iterable[tuple[int, int]]:
    """Where options stand before a ``--``, and of how many words each is."""
    at = 0
    while at < len(words) and words[at] != "--":
        length = _length(words, at, readers)
        if length:
            yield at, length
        at += length or 1


def _length(words: Sequence[str], at: int, readers: Readers) -> int:
    spelling, equals, value = words[at].partition("=")
    if spelling not in readers:
        return 0
    read = readers[spelling]
    if read is None:
        return 0 if equals else 1
    if not equals:
        value = words[at + 1] if at + 1 < len(words) else ""
    if not value.strip() or value.startswith("-"):
        return 0
    try:
        read(value)
    except (UsageError, ValueError):
        return 0
    return 1 if equals else 2
