"""Entries of a container are found again when a change has given them other keys, and no others are."""

from __future__ import annotations

import pytest
import torch
from observed import event, run

from devsan.numbers.comparison import compare
from devsan.numbers.observer import _named_in

COS, SIN, LONG = torch.ones(3), torch.zeros(3), torch.ones(5)


class Device:
    """A key of a dictionary that is neither text nor a number."""


def _at_the_end(value):
    names, tensors = zip(*_named_in(value, 4, "cache"), strict=True)
    return run(event("state", *tensors, names=list(names)))


KEYS = [Device(), Device()]


@pytest.mark.parametrize(
    "other",
    [
        {(3, device): (COS, SIN) for device in KEYS} | {(5, device): (LONG, LONG) for device in KEYS},
        {(5, KEYS[0]): (LONG, LONG), (3, KEYS[1]): (COS, SIN)},
        {"3 on a GPU": (COS, SIN), "5 on a GPU": (LONG, LONG)},
        {3: (COS, SIN), "5 on a GPU": (LONG, LONG)},
    ],
)
def test_a_key_may_be_another_where_its_entry_is_the_same(other):
    found = compare(_at_the_end({3: (COS, SIN), 5: (LONG, LONG)}), _at_the_end(other))
    assert found.equal and found.compared == {"state": 4}


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({(3, KEYS[0]): (COS, COS), (5, KEYS[0]): (LONG, LONG)}, "expected a tensor cache[3][0] at the end, got none"),
        ({(3, KEYS[0]): (COS, SIN)}, "expected a tensor cache[5][0] at the end, got none"),
        ({3: (SIN, COS), (3, KEYS[0]): (COS, SIN), 5: (LONG, LONG)}, "cache[3][0] at the end: expected 1, got 0"),
        ({(3, KEYS[0]): (COS,), (3, KEYS[1]): (SIN, SIN), 5: (LONG, LONG)}, "expected a tensor cache[3][0] at"),
    ],
)
def test_an_entry_with_other_numbers_is_not_it(other, difference):
    found = compare(_at_the_end({3: (COS, SIN), 5: (LONG, LONG)}), _at_the_end(other))
    assert difference in found.difference


def test_two_entries_need_two():
    both = _at_the_end({"a": COS, "b": COS})
    assert compare(both, _at_the_end({"a": COS, "c": COS})).equal
    assert not compare(both, _at_the_end({"c": COS})).equal
    assert not compare(both, _at_the_end({"a": COS})).equal, "an entry under its own key stands for itself alone"


def test_entries_without_names_may_come_in_another_order_and_be_more():
    one = _at_the_end({(KEYS[0], 3): COS, (KEYS[0], 5): LONG})
    more = _at_the_end({(KEYS[0], 3): COS, (KEYS[1], 3): COS, (KEYS[0], 5): LONG, (KEYS[1], 5): LONG})
    assert compare(one, more).equal
    assert "expected float32[5], got float32[3]" in compare(one, _at_the_end({KEYS[0]: COS, KEYS[1]: SIN})).difference


def test_an_entry_of_another_container_is_not_it():
    one = run(event("state", COS, LONG, names=["cache[3]", "kept.x"]))
    other = run(event("state", COS, LONG, names=["elsewhere[4]", "kept.x"]))
    assert compare(one, other).difference == "expected a tensor cache[3] at the end, got none"
