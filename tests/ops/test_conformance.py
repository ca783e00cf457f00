"""A part of `make ops`, drawn by a fixed seed: torch's operators give on cuda:1 what they give on the CPU."""

from __future__ import annotations

import warnings

import pytest
from conformance.judging import judge
from conformance.known import Known, read
from conformance.report import Totals
from conformance.samples import Subject, drawn, subjects

SHARE, SEED, LIMIT = 0.04, 0, 0.5
PARTS = 8  # so that processes can share them


def part_of_all(part: int) -> list[Subject]:
    return drawn(subjects(), SHARE, SEED)[part::PARTS]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, PARTS))])
def test_operators_agree_with_the_cpu(part: int) -> None:
    totals = Totals(Known(read()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for subject in part_of_all(part):
            totals.add(judge(subject, LIMIT))
    assert totals.failures == []
    assert totals.known.stale(whole=False) == []
    assert sum(totals.agreeing.values()) > 100


def test_every_known_difference_is_an_operators() -> None:
    names = [str(subject) for subject in subjects()]
    for entry in read():
        assert any(entry.covers(name, kind) for name in names for kind in ("*", *entry.kinds)), entry
