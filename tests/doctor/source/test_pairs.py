"""Programs in pairs that differ in one place: one fails and is named, its twin works and is clean.

They were written from situations of public threads, with their expectations, and only then checked: of the first 16
pairs 13 were named at the first look and all twins were clean, of the next 10 all were named and 9 twins were clean.
They hold what was learnt; the resumed optimizer and the lengths of a batch came later. The first 16 were run on
emulated GPUs as well: each one that fails does, with its code or (the cache of rope_by_length) with DV101, but for
late_visible, which goes wrong silently; the twins work.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from devsan.doctor.source import check

PAIRS = Path(__file__).parent / "pairs"
NAMES = sorted(path.stem.removesuffix("_fails") for path in PAIRS.glob("*_fails.py"))


def codes_of(path: Path) -> set[str]:
    result = check([path], edits=False)
    assert result.notes == []
    return {finding.code for finding in result.findings if finding.severity != "note"}


def test_each_has_its_twin_which_differs_little():
    assert len(NAMES) == 28
    assert {path.stem for path in PAIRS.glob("*.py")} == {
        f"{name}_{kind}" for name in NAMES for kind in ("fails", "works")
    }
    for name in NAMES:
        one, other = ((PAIRS / f"{name}_{kind}.py").read_text().splitlines()[1:] for kind in ("fails", "works"))
        changed = [line for line in difflib.ndiff(one, other) if line[0] in "+-"]
        assert 0 < len(changed) <= 16, name


@pytest.mark.parametrize("name", NAMES)
def test_the_one_that_fails_is_named(name: str):
    path = PAIRS / f"{name}_fails.py"
    expected = re.search(r"expect: (DV\d{3})", path.read_text(encoding="utf-8"))
    assert expected is not None and expected[1] in codes_of(path)


@pytest.mark.parametrize("name", NAMES)
def test_the_one_that_works_is_clean(name: str):
    assert codes_of(PAIRS / f"{name}_works.py") == set()
