"""Cases of public issue threads, each a small program: cause, operands and owner, not only that an error came.

The first line of a case says what is expected: the code; how many GPUs; names of operands that the facts must hold; the
owner of the operand that is to be changed ("-": none is to be named). A case is called after its thread.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))
NEEDS = ("accelerate", "transformers", "peft")


def expectation(text: str) -> dict[str, str]:
    first = text.split("\n", 1)[0].removeprefix("# ")
    return dict(part.split(": ", 1) for part in first.split(" | "))


def test_there_are_enough_cases_of_every_class():
    codes = [expectation(case.read_text(encoding="utf-8"))["expect"] for case in CASES]
    assert len(codes) >= 60
    assert len(set(codes)) >= 18


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_cause_operands_and_owner(case: Path, explained: Callable[[str, Path, int], Any]):
    text = case.read_text(encoding="utf-8")
    for library in NEEDS:
        if library in text:
            pytest.importorskip(library)
    expected = expectation(text)
    explanation = explained(text, case, int(expected["gpus"]))
    assert explanation is not None, "expected a failure, got none"
    finding, failure = explanation.findings[0], explanation.facts.failure
    assert finding.code == expected["expect"], f"{finding.title}: {list(finding.evidence)} {list(finding.candidates)}"
    names = [operand.best_name for operand in failure.operands]
    for name in expected["operands"].split(", "):
        assert name in names or name == "-"
    if expected["owner"] != "-":
        placement = failure.operands[finding.operands[0]].placement
        assert placement is not None
        assert placement.owner.name == expected["owner"]
