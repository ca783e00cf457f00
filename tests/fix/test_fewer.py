"""The same changes but one, in a file that all of them change."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from seeded import script

from devsan.diagnostics.diagnostic import Edit, Place
from devsan.errors import DevsanError
from devsan.fix.change import Change, applied
from devsan.fix.fewer import without

TEXT = """\
import torch
first = one(1)
def f():
    return first + second
print(f())
"""
PAIRS = [
    ("first = one(1)\n", "first = one(1)\nsecond = first.to(0)\n"),  # a line more
    ("import torch\n", ""),  # a line less
    ("return first", "return  first.cuda()"),  # beside another one, in the same line
    ("second\n", "second.cuda()\n"),
    ("print(f())\n", "a = 1\nb = 2\nprint(f())\n"),
]


def made(path: Path, pairs: list[tuple[str, str]]) -> list[Change]:
    """Changes one after the other, each with its place in what the ones before it left; the last match is meant."""
    changes: list[Change] = []
    for before, after in pairs:
        text = applied(changes).get(str(path), TEXT)
        head = text[: text.rindex(before)]
        place = Place(str(path), head.count("\n") + 1, len(head) - (head.rfind("\n") + 1) + 1, path=str(path))
        changes.append(Change(before, "use_site", (Edit(place, before, after),)))
    return changes


@pytest.mark.parametrize("order", [PAIRS, PAIRS[::-1], PAIRS[2:] + PAIRS[:2]])
def test_the_others_are_made_where_they_belong(tmp_path: Path, order: list[tuple[str, str]]) -> None:
    path = script(tmp_path, TEXT)
    for pairs in (list(each) for count in (2, 3, 4, 5) for each in combinations(order, count)):
        for number in range(len(pairs)):
            expected = TEXT
            for before, after in [*pairs[:number], *pairs[number + 1 :]]:
                head, _, tail = expected.rpartition(before)
                expected = head + after + tail
            assert applied(without(made(path, pairs), number))[str(path)] == expected


def test_what_a_later_one_changes_again_cannot_be_left_out(tmp_path: Path) -> None:
    path = script(tmp_path, TEXT)
    changes = made(path, [("one(1)", "one(1, 2)"), ("1, 2", "3")])
    with pytest.raises(DevsanError, match="do not depend on each other"):
        without(changes, 0)
    assert applied(without(changes, 1))[str(path)] == TEXT.replace("one(1)", "one(1, 2)")


def test_a_file_that_has_no_change_left_is_as_it_was(tmp_path: Path) -> None:
    path = script(tmp_path, TEXT)
    (tmp_path / "other.py").write_text("x = 1\n", encoding="utf-8")
    other = str(tmp_path / "other.py")
    change = Change("x", "use_site", (Edit(Place(other, 1, 5, path=other), "1", "2"),))
    changes = [*made(path, PAIRS[:1]), change]
    assert applied(without(changes, 0)) == {other: "x = 2\n"}
