"""How many of the regressions end with the right numbers, each by one search: tests/regressions has the programs.

What is not verified is listed with its reason, so that a search that finds less than before fails by name.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from devsan.fix.experiment import Laboratory
from devsan.fix.job import Job
from devsan.fix.search import search
from devsan.options import Options

REGRESSIONS = Path(__file__).parents[1] / "regressions"
CASES = sorted((REGRESSIONS / "cases").glob("*.py"))
OPEN: dict[str, list[str]] = json.loads(Path(__file__).with_name("open_regressions.json").read_text(encoding="utf-8"))
"""The cases that are not verified, by the reason."""

LEFT_OUT = {name for names in OPEN.values() for name in names}

SHARE = 0.7
"""At least so much of the regressions is verified."""


def test_the_share_that_is_verified():
    assert {case.stem for case in CASES} >= LEFT_OUT
    assert 1 - len(LEFT_OUT) / len(CASES) >= SHARE


@pytest.mark.drawn(40)
@pytest.mark.parametrize("case", [case for case in CASES if case.stem not in LEFT_OUT], ids=lambda case: case.stem)
def test_a_regression_is_fixed_with_the_right_numbers(case: Path, tmp_path: Path):
    text = case.read_text(encoding="utf-8")
    for library in ("accelerate", "transformers", "peft", "lightning", "torchmetrics"):
        if f"import {library}" in text or f"from {library}" in text:
            pytest.importorskip(library)
    gpus = text.split("\n", 1)[0].split("gpus: ")[1].split(" ")[0]
    environ = {**os.environ, "PYTHONPATH": str(REGRESSIONS), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    job = Job(Options().updated({"gpus": gpus}), (str(case),), str(tmp_path), environ)
    with Laboratory(job, 120) as laboratory:
        found = search(laboratory, lambda *_: None)
    assert found.verified, [(trial.status, [str(change.text) for change in trial.changes]) for trial in found.trials]
