"""Seed 001, whole: device_map="auto" in every rank of torchrun, and an engine that moves it to the rank's GPU."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

NAME = "qwen_finetune.py"
NORM = "Expected all tensors to be on the same device, but found at least two devices, cuda:{} and cuda:{}!"
EMBEDDING = (
    "Expected all tensors to be on the same device, but got index is on cuda:{}, different from other tensors on "
    "cuda:{} (when checking argument in method wrapper_CUDA__index_select)"
)


def said_by(err: str, rank: int) -> str:
    """The last sentence of a rank's traceback."""
    found = re.findall(rf"^\[rank{rank}\]: RuntimeError: (.*)$", err, re.MULTILINE)
    return found[-1] if found else ""


def losses(out: str) -> dict[str, str]:
    return dict(re.findall(r"rank (\d+) losses (\[.*?\])", out))


def is_two_owners(prose: str) -> bool:
    """One finding, told as two owners, with the lines of both and the fixes that are true."""
    return (
        prose.startswith("error[DV201]: ")
        and prose.count("error[DV") == 1
        and "self.module = module.to(LOCAL_RANK)" in prose
        and "accelerate: AlignDevicesHook" in prose
        and "load the model without device_map" in prose
        and 'device_map={"": int(os.environ["LOCAL_RANK"])}' in prose
    )


@pytest.mark.long
def test_every_rank_dies_of_two_owners(launched):
    job = launched(NAME, gpus=8, ranks=2)
    assert job.code != 0
    assert "map [0, 1, 2, 3, 4, 5, 6]" in job.out
    assert said_by(job.err, 0) == NORM.format(0, 1)  # whose GPU is the map's first: past the embedding
    assert said_by(job.err, 1) == EMBEDDING.format(0, 1)
    assert is_two_owners(job.prose), job.report
    assert "ranks 0 and 1" in job.prose


# Two ranks that train are told by test_004_lightning.py too.
@pytest.mark.long
def test_without_the_map_it_trains(launched):
    job = launched(NAME, "--fix", "none", gpus=8, ranks=2)
    assert job.code == 0, job.err[-3000:]
    assert job.report == ""
    assert losses(job.out).keys() == {"0", "1"}


@pytest.mark.frameworks
def test_with_a_map_to_the_rank_it_trains_alike(launched):
    jobs = [launched(NAME, "--fix", fix, gpus=8, ranks=2) for fix in ("none", "rank")]
    assert [job.code for job in jobs] == [0, 0], jobs[1].err[-3000:]
    assert losses(jobs[0].out) == losses(jobs[1].out) != {}


@pytest.mark.frameworks
def test_a_busy_first_gpu_moves_the_map(launched):
    """The article's pair, cuda:2 and cuda:1."""
    job = launched(NAME, "--busy", gpus=8, ranks=3)
    assert "map [1, 2, 3, 4, 5, 6" in job.out
    assert said_by(job.err, 2) == EMBEDDING.format(1, 2)
    assert said_by(job.err, 1) == NORM.format(1, 2)
    assert is_two_owners(job.prose), job.report


@pytest.mark.frameworks
def test_with_deepspeeds_engine(launched):
    pytest.importorskip("deepspeed")
    job = launched(NAME, "--engine", "deepspeed", gpus=8, ranks=2)
    assert said_by(job.err, 0) == NORM.format(0, 1)
    assert said_by(job.err, 1) == EMBEDDING.format(0, 1)
    assert job.prose.startswith("error[DV201]: ")
    assert "DeepSpeed" in job.prose or "deepspeed" in job.prose
    fixed = launched(NAME, "--engine", "deepspeed", "--fix", "none", gpus=8, ranks=2)
    assert fixed.code == 0, fixed.err[-3000:]
    assert losses(fixed.out).keys() == {"0", "1"}
