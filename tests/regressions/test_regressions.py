"""Cases of public issue threads, each a small program: cause, operands and owner, not only that an error came.

The first line of a case says what is expected (expectation.py). An edit that the finding proposes is applied to the
case and run: the failure is gone, or at least this finding of it. A case is called after its thread, or ``own_...``.
docs/reference/regressions.md has the figures of each round before anything was changed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from edits import applied
from expectation import CASES, expectation
from translation import left_in_english

from devsan.diagnostics.messages import message

NEEDS = ("accelerate", "transformers", "peft", "lightning", "torchmetrics")


def edits_of(finding: Any, case: Path) -> Iterator[Any]:
    """Yields the edits of ``finding`` that change ``case``."""
    for fix in finding.fixes:
        if fix.edit is not None and Path(fix.edit.file) == case:
            yield fix.edit


def same(one: Any, other: Any) -> bool:
    """Returns whether two findings say the same of the same line."""
    lines = [[site.frame.span.line for site in finding.sites] for finding in (one, other)]
    return one.code == other.code and one.title == other.title and lines[0] == lines[1]


def test_there_are_enough_cases_of_every_class():
    codes = [expectation(case.read_text(encoding="utf-8")).code for case in CASES]
    assert len(codes) >= 160
    assert len(set(codes)) >= 18


def test_what_stays_english_is_found():
    known = message("{name} was moved to the CPU{at}.", name="`x`", at="")
    loose = message("{name} was moved to the CPU{at}.", name="the weight of it", at="")
    finding = SimpleNamespace(title=known, evidence=["It is here.", message("It is {place}.", place="x")], fixes=())
    assert left_in_english(finding) == ["It is here.", "It is {place}."]
    assert left_in_english(SimpleNamespace(title=loose, evidence=(), fixes=())) == ["the weight of it"]


@pytest.mark.drawn(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_cause_operands_owner_and_fix(
    case: Path, explained: Callable[[str, Path, int], Any], request: pytest.FixtureRequest, tmp_path: Path
):
    text = case.read_text(encoding="utf-8")
    for library in NEEDS:
        if f"import {library}" in text or f"from {library}" in text:
            pytest.importorskip(library)
    expected = expectation(text)
    if expected.miss:
        request.applymarker(pytest.mark.xfail(reason=expected.miss, strict=True))
    explanation = explained(text, case, expected.gpus)
    assert explanation is not None, "expected a failure, got none"
    finding, failure = explanation.findings[0], explanation.facts.failure
    assert finding.code == expected.code, f"{finding.title}: {list(finding.evidence)} {list(finding.candidates)}"
    assert left_in_english(finding) == []
    names = [operand.best_name for operand in failure.operands]
    assert set(expected.operands) <= set(names)
    for number in finding.operands:  # by the source, the model or what made it, never by torch's word alone
        operand = failure.operands[number]
        assert operand.name or operand.qualified_name or operand.output_of
    if expected.owner != "-":
        placement = failure.operands[finding.operands[0]].placement
        assert placement is not None
        assert placement.owner.name == expected.owner
    for number, edit in enumerate(edits_of(finding, case)):
        fixed = tmp_path / f"fix_{number}.py"
        fixed.write_text(applied(text, edit), encoding="utf-8")
        left = explained(fixed.read_text(encoding="utf-8"), fixed, expected.gpus)
        assert left is None or not same(finding, left.findings[0]), edit.after
