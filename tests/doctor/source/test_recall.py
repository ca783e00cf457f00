"""What the doctor sees of programs that fail, from their source alone; of programs that work it says nothing."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from devsan.doctor.source import check

ROOT = Path(__file__).parents[3]
CASES = sorted((ROOT / "tests/regressions/cases").glob("*.py"))
WORKING = [
    *sorted((ROOT / "tests/regressions/working").glob("*.py")), *sorted((ROOT / "examples").glob("*.py")),
    *sorted((ROOT / "benchmarks").glob("*.py")),
]  # fmt: skip
FOUND = [line.split() for line in (Path(__file__).parent / "recall.txt").read_text().splitlines() if line[0] != "#"]


def codes_of(path: Path) -> set[str]:
    return {finding.code for finding in check([path], edits=False).findings}


@pytest.mark.parametrize(("name", "code"), FOUND, ids=[name for name, _ in FOUND])
def test_still_finds(name: str, code: str):
    assert code in codes_of(ROOT / f"tests/regressions/cases/{name}.py")


@pytest.mark.parametrize("path", WORKING, ids=lambda path: path.stem)
def test_programs_that_work_are_clean(path: Path):
    assert [f"{finding.code} {finding.place}: {finding.title}" for finding in check([path]).findings] == []


@pytest.mark.frameworks
def test_counts_what_is_found():
    """Prints the table of docs/reference/doctor-rules.md."""
    cases, right, any_code = Counter(), Counter(), Counter()
    for path in CASES:
        expected = re.search(r"expect: (DV\d{3})", path.read_text(encoding="utf-8"))
        assert expected is not None
        found = codes_of(path)
        cases[expected[1]] += 1
        right[expected[1]] += expected[1] in found
        any_code[expected[1]] += bool(found)
    for code in sorted(cases):
        print(f"| {code} | {cases[code]} | {right[code]} | {any_code[code] - right[code]} |")
    print(f"| all | {cases.total()} | {right.total()} | {any_code.total() - right.total()} |")
    assert right.total() >= len(FOUND)
