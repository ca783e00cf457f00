"""A part of the sweep of dtypes, drawn by a fixed seed, and what its table of known differences says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dtypes.known import read

HERE = Path(__file__).parent
# What a program meets first, whatever the seed draws: products, decompositions, distances, pools.
ALWAYS = ["mm", "bmm", "linalg.qr", "svd", "cdist", "nn.functional.max_pool2d"]


def sweep(*arguments: str) -> str:
    command = [sys.executable, "-W", "ignore", "-m", "dtypes", "--jobs", "1", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize(
    "arguments", [ALWAYS, pytest.param(["--share", "0.05"], marks=pytest.mark.long)], ids=["always", "drawn"]
)
def test_dtypes_are_those_of_torchs_list(arguments: list[str]) -> None:
    printed = sweep(*arguments)
    assert "\n0 unexplained;" in printed
    assert "forward: both refuse" in printed


def test_every_known_difference_has_a_reason() -> None:
    assert all(len(entry.reason) > 20 and entry.dtypes for entry in read())
