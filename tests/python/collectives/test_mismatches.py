"""Ranks that differ in a call: each is told of all, and no process is aborted by gloo."""

JOB = "mismatches.py"
RANKS = 3


def test_mismatch(check: str, outcomes: dict[str, list[str]]) -> None:
    assert outcomes[check] == ["passed"] * RANKS


def test_all_ranks_end(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["the end"] == ["passed"] * RANKS
