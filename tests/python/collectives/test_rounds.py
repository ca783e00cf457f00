"""Groups that are made and destroyed over and over, and emulations, in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import programs
import pytest

JOB = Path(__file__).with_name("jobs") / "rounds.py"
Start = Callable[..., list[programs.Program]]


@pytest.mark.parametrize("way", ["groups", "emulations"])
def test_rounds(way: str, start_ranks: Start) -> None:
    processes = start_ranks([str(JOB), way], 2)
    errors = [process.communicate(timeout=90)[1][-3000:] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
