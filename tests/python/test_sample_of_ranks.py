"""``--ranks``: how ranks are written, and which ranks of a launch they are."""

from __future__ import annotations

import pytest

from devsan.errors import UsageError
from devsan.sample_of_ranks import Sample, chosen, from_text, read_ranks


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("first,last", (0, 511)), ("0,7, 8,511", (0, 7, 8, 511)), ("0-3", (0, 1, 2, 3)), ("-2", (510,)),
        ("510-last,first", (0, 510, 511)), ("-2--1", (510, 511)), ("3,3,2-3", (2, 3)),
    ],
)  # fmt: skip
def test_chosen(text, ranks):
    assert chosen(read_ranks(text), 512) == Sample(ranks, 512)


@pytest.mark.parametrize("text", ["", "rank 3", "0,", "1-", "-", "2.5", "0:3", "first..last"])
def test_what_names_no_ranks(text):
    with pytest.raises(UsageError, match=r"^expected ranks such as 0,7, 0-3, first or last, got "):
        read_ranks(text)


def test_a_range_from_the_higher_to_the_lower():
    with pytest.raises(UsageError, match="got '7-3'; did you mean '3-7'"):
        read_ranks("0,7-3")


@pytest.mark.parametrize(("text", "got"), [("0,8", "8"), ("-9", "-9"), ("6-9", "6-9"), ("5--6", "5--6")])
def test_ranks_that_the_launch_does_not_have(text, got):
    with pytest.raises(UsageError, match=rf"^expected --ranks of 0 to 7, which the launch has, got {got}$"):
        chosen(read_ranks(text), 8)


def test_a_sample_reads_back_what_it_writes():
    sample = Sample((0, 511), 512)
    assert sample.as_text() == "0,511/512"
    assert from_text(sample.as_text()) == sample
    assert from_text("") is None
