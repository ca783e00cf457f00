"""Entries of containers that a change has given other keys.

NOTE [Keys that a fix changes] What a program holds at its end is compared by name, and the name of an entry has its
key: ``cache[12]``. A fix may change the key itself: a cache of a table for each length gets one for each length and
device, so that ``cache[12]`` is gone, and its table is there under one or more keys that the reference does not have.
An entry that the run lacks is therefore looked for among those entries of the same container that the run alone has; it
is found where one has the same tensors, all of them with the same numbers. Each is found once, so that two entries need
two, and an entry that the reference has under its own key stands for that one alone. A key that is neither text nor an
integer has no name that is the same in two runs, and its number says only when it came: such entries are always looked
for like this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

BY_NUMBER = "#"
"""In front of the number of an entry whose key has no name."""

_SUBSCRIPT = re.compile(r"\[([^\[\]]*)\]")


class RenamedEntries:
    """What the entries of the reference are called in a run.

    Args:
        expected: the names of the reference.
        others: the names of the run.
        is_same: whether the tensor of the first name, in the reference, has the numbers of the second, in the run.
    """

    def __init__(self, expected: Collection[str], others: Collection[str], is_same: Callable[[str, str], bool]) -> None:
        self._others = _entries(others)
        self._entries = _entries(expected)
        self._is_same = is_same
        self._found: dict[str, str] = {}  # the run's entry, by that of the reference
        self._taken: set[str] = set()

    def name_of(self, name: str) -> str:
        """Returns the name of the reference's ``name`` in the run; "" where no entry of its container is its like."""
        for subscript in _SUBSCRIPT.finditer(name):
            entry, rest = name[: subscript.end()], name[subscript.end() :]
            found = self._found.get(entry) or self._like(name[: subscript.start()], entry)
            if found:
                self._found[entry] = found
                self._taken.add(found)
                return found + rest
        return ""

    def _like(self, container: str, entry: str) -> str:
        """The entry of ``container`` that the run alone has, and that has all tensors of ``entry``."""
        tensors = self._entries[container][entry]
        for other, its in self._others.get(container, {}).items():
            is_own = other in self._entries[container] and not _is_by_number(other)
            if is_own or other in self._taken or not set(tensors) <= set(its):
                continue
            if all(self._is_same(entry + rest, other + rest) for rest in tensors):
                return other
        return ""


def _is_by_number(entry: str) -> bool:
    return entry.rpartition("[")[2].startswith(BY_NUMBER)


def has_number(name: str) -> bool:
    """Returns whether an entry on the way to ``name`` is called by its number."""
    return f"[{BY_NUMBER}" in name


def _entries(names: Collection[str]) -> dict[str, dict[str, list[str]]]:
    """The entries of each container, and of each entry the ways to its tensors."""
    found: dict[str, dict[str, list[str]]] = {}
    for container, entry, rest in _ways(names):
        found.setdefault(container, {}).setdefault(entry, []).append(rest)
    return found


def _ways(names: Collection[str]) -> Iterator[tuple[str, str, str]]:
    for name in names:
        for subscript in _SUBSCRIPT.finditer(name):
            yield name[: subscript.start()], name[: subscript.end()], name[subscript.end() :]
