"""Ranks that are on one GPU, do not come, leave, or are killed: who is told what, and how soon."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import programs
import pytest

JOB = Path(__file__).with_name("jobs") / "failures.py"
REFUSED = 3
Start = Callable[..., list[programs.Program]]
Ends = list[tuple[int, str, str]]


@pytest.fixture
def fail(start_ranks: Start) -> Callable[..., Ends]:
    """Runs a way to fail; returns the status, stdout and stderr of each rank."""

    def run(way: str, ranks: int, **variables: str) -> Ends:
        processes = start_ranks([str(JOB), way], ranks, **variables)
        ends = []
        for process in processes:
            out, err = process.communicate(timeout=120)
            ends.append((process.returncode, out, err))
        return ends

    return run


def told(end: tuple[int, str, str]) -> str:
    """What a rank that was refused printed last."""
    code, out, err = end
    assert code == REFUSED, f"expected a DistBackendError, got status {code}:\n{out}\n{err[-3000:]}"
    return out.splitlines()[-1]


def test_two_ranks_on_one_gpu_are_refused(fail: Callable[..., Ends]) -> None:
    for rank, end in enumerate(fail("same_gpu", 2)):
        sentence = told(end)
        assert "NCCL error in: " in sentence and "ncclInvalidUsage" in sentence
        assert re.search(
            rf"Duplicate GPU detected : rank {rank} and rank {1 - rank} both on CUDA device \w+$", sentence
        )


def test_a_rank_that_changes_to_the_gpu_of_another_is_refused(fail: Callable[..., Ends]) -> None:
    first, second = fail("same_gpu_later", 2)
    assert "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device" in told(second)
    assert "ncclRemoteError" in told(first)  # which waits for it


def test_each_rank_may_call_its_gpu_cuda_0(fail: Callable[..., Ends]) -> None:
    assert [code for code, _, _ in fail("own_gpu_each", 2)] == [0, 0]


@pytest.mark.long
def test_a_rank_that_never_comes_is_named(fail: Callable[..., Ends]) -> None:
    first, _ = fail("never_comes", 2)
    sentence = told(first)
    assert sentence.startswith("[0] is setting up NCCL communicator and retrieving ncclUniqueId from [0]")
    assert sentence.endswith("Ranks that have not come to this communicator: 1")


@pytest.mark.long
def test_a_wait_ends_with_the_sentence_of_the_watchdog(fail: Callable[..., Ends]) -> None:
    for rank, end in enumerate(fail("leaves", 3)[:2]):
        sentence = told(end)
        if "ncclRemoteError" in sentence:  # the other one was sooner, and has ended
            continue
        assert re.search(
            rf"\[PG ID 0 PG GUID 0\(default_pg\) Rank {rank}\] Watchdog caught collective operation timeout: "
            r"WorkNCCL\(SeqNum=2, OpType=ALLREDUCE, NumelIn=6, NumelOut=6, Timeout\(ms\)=\d+\) "
            r"ran for \d+ milliseconds before timing out\.",
            sentence,
        )


def test_a_killed_rank_is_named_at_once(start_ranks: Start, tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    processes = start_ranks([str(JOB), "killed"], 3, DEVSAN_JOB=str(job))
    begin = time.monotonic()
    ends = [(process, *process.communicate(timeout=60)) for process in processes]
    assert time.monotonic() - begin < 40  # far from the group's 60 s
    assert ends[2][0].returncode == -signal.SIGKILL
    sentences = [told((process.returncode, out, err)) for process, out, err in ends[:2]]
    assert any(f"Ended: rank 2 (process {processes[2].pid})" in sentence for sentence in sentences), sentences
    assert all("ncclRemoteError" in sentence for sentence in sentences)

    import torch  # noqa: F401 (before the core)

    from devsan import _core

    recordings = [_core.read_flight_recorder(str(job / f"{process.pid}.flight")) for process in processes]
    for rank, recording in enumerate(recordings):
        assert recording is not None and recording["rank"] == rank and recording["world_size"] == 3
        assert recording["groups"][0]["ranks"] == [0, 1, 2]
        first, *later = recording["collectives"]
        assert (first["name"], first["state"], first["shape"]) == ("all_reduce", "done", [2, 3])
        assert (first["dtype"], first["device"], first["bytes"]) == ("float32", f"cuda:{rank}", 24)
        assert first["function"] == "killed" and first["file"].endswith("failures.py") and first["line"] > 0
        # The killed rank never came to the second one, which the others have left with an error.
        assert [call["state"] for call in later] == ([] if rank == 2 else ["failed"])


@pytest.mark.long
def test_an_error_of_the_program_ends_it(fail: Callable[..., Ends]) -> None:
    begin = time.monotonic()
    (code, _, err), *_ = fail("fails_with_work_under_way", 2)
    assert code == 1 and "ValueError: an error of the program's own" in err
    assert time.monotonic() - begin < 40
