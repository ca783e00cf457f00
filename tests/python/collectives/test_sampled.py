"""The collectives of three ranks of eight, nccl's and gloo's, against what they are defined to give: the same as of all
ranks, where each that does not run has its stand-in's tensors."""

JOB = "sampled.py"
RANKS = (1, 4, 6)
VARIABLES = {"WORLD_SIZE": "8", "DEVSAN_SAMPLE": "1,4,6/8", "LOCAL_WORLD_SIZE": "8"}


def test_collective(check: str, outcomes: dict[str, list[str]]) -> None:
    assert outcomes[check] == ["passed"] * len(RANKS)


def test_all_ranks_end(outcomes: dict[str, list[str]]) -> None:
    assert outcomes["the end"] == ["passed"] * len(RANKS)
