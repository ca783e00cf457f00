"""Profiles of two ranks look as NCCL's do."""

JOB = "profiling.py"
RANKS = 2


def test_profile(check: str, outcomes: dict[str, list[str]]) -> None:
    assert outcomes[check] == ["passed"] * RANKS


def test_all_ranks_end(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["the end"] == ["passed"] * RANKS
