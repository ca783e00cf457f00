"""How many of the regressions end with the right numbers, each by one search: tests/regressions has the programs.

Each of them is a search of some ten seconds, so that one in sixteen is searched here, half of those in CI, and all by
``tools/fix_regressions.py``. With ``--bless`` that writes the list of those that are not verified, with the reasons
that the searches gave, so that a search that finds less than before fails by name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from regression_search import CASES, search_fix

OPEN: dict[str, list[str]] = json.loads(Path(__file__).with_name("open_regressions.json").read_text(encoding="utf-8"))
"""The cases that are not verified, by the reason."""

LEFT_OUT = {name for names in OPEN.values() for name in names}

DRAWN = [case for case in CASES if case.stem not in LEFT_OUT][::16]

MINUTES = {"unseen_prefilled_cache"}
"""Searches that take as long as thirty of the others."""

SHARE = 0.95
"""At least so much of the regressions is verified."""


def test_the_share_that_is_verified():
    assert {case.stem for case in CASES} >= LEFT_OUT
    assert 1 - len(LEFT_OUT) / len(CASES) >= SHARE


def _drawn() -> list[Any]:
    return [
        pytest.param(case, marks=[pytest.mark.rare] if at % 2 or case.stem in MINUTES else [], id=case.stem)
        for at, case in enumerate(DRAWN)
    ]


@pytest.mark.long
@pytest.mark.parametrize("case", _drawn())
def test_a_regression_is_fixed_with_the_right_numbers(case: Path):
    text = case.read_text(encoding="utf-8")
    for library in ("accelerate", "transformers", "peft", "lightning", "torchmetrics"):
        if f"import {library}" in text or f"from {library}" in text:
            pytest.importorskip(library)
    found = search_fix(case)
    assert found.verified, [(trial.status, [str(change.text) for change in trial.changes]) for trial in found.trials]
