"""From the documents of ranks to who was first, in words."""

from __future__ import annotations

# ruff: noqa: RUF001 (the punctuation of Chinese)
import io
from typing import Any

import pytest

from devsan.diagnostics.diagnostic import Diagnostic
from devsan.job import diagnosis, findings, outcome, record, text
from devsan.job.exit_watcher import exit_of
from devsan.job.peer_errors import is_about_peer
from devsan.run_files.document import without_failure
from devsan.run_files.ranks import ranks_text
from devsan.sample_of_ranks import Sample

GLOO = "[/pytorch/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:424"


def document(rank: int, *, code: int | None = None, at: float = 10.0, failure: str = "", **more: Any) -> dict[str, Any]:
    kind, _, message = failure.partition(": ")
    told = {"type": kind, "message": message, "time": at, "place": f"train.py:{rank + 1}"} if failure else None
    process = {"rank": rank, "pid": 100 + rank, "parent": 1, "start": float(rank), "command": ["python", "train.py"],
               "directory": "/"}  # fmt: skip
    exit = outcome.exit_fields(exit_of(code, at)) if code is not None else None
    end = {"time": at, "how": "finished"} if code == 0 else None
    return {"process": process, "failure": told, "end": end, "exit": exit, "stack": [], "findings": [], **more}


def told(documents: list[dict[str, Any]], sample: Sample | None = None) -> list[str]:
    out = io.StringIO()
    fates = outcome.fates_of(documents)
    text.write(diagnosis.made(documents, fates, findings.joined(documents), ["torchrun", "train.py"], {}, sample), out)
    return out.getvalue().splitlines()


def test_a_killed_rank_is_the_cause_and_the_others_its_victims(monkeypatch):
    monkeypatch.setenv("DEVSAN_LANG", "en")
    stack = [{"file": "/torch/site-packages/torch/x.py", "line": 5, "function": "wait"},
             {"file": "<string>", "line": 12, "function": "step"}]  # fmt: skip
    documents = [
        document(0, code=1, at=10.5, failure=f"RuntimeError: {GLOO}\nmore"),
        document(1, code=-9, at=10.0),
        document(2, code=-15, at=11.25, stack=stack),
        document(3, code=0, at=9.0),
    ]
    assert told(documents) == [
        "",
        "train.py, 4 ranks:",
        "  rank 1  killed by SIGKILL",
        "  rank 0  failed at train.py:1, 0.5 s later, because a peer rank failed: RuntimeError: Connection closed by "
        "peer [127.0.0.1]:424",
        "  rank 2  ended by the launcher at <string>:12, 1.2 s later",
        "  rank 3  finished",
    ]


def test_the_sentence_of_an_error_that_stands_above_is_not_repeated():
    report = Diagnostic(title="t", sentence="Expected all tensors to be on the same device")
    finding = {**without_failure(report), "count": 1}
    made = {"findings": [finding], "ranks": [], "places": ""}
    shown = "-- Process 1 terminated with the following error:\nExpected all tensors\n  to be on the same device!\n"
    for above, times in (([], 1), (["CUDA out of memory."], 1), ([shown], 0)):
        out = io.StringIO()
        text.write(made, out, shown=above)
        assert out.getvalue().count("Expected all tensors") == times, above


def test_in_chinese(monkeypatch):
    monkeypatch.setenv("DEVSAN_LANG", "zh")
    documents = [
        document(0, code=1, at=10.5, failure=f"RuntimeError: {GLOO}"),
        document(1, code=-9, at=10.0),
    ]
    assert told(documents)[1:] == [
        "train.py，2 个 rank：",
        "  rank 1  被 SIGKILL 终止",
        "  rank 0  失败（train.py:1），0.5 秒之后，因为另一个 rank 失败了：RuntimeError: Connection closed by peer "
        "[127.0.0.1]:424",
    ]


@pytest.mark.parametrize(
    ("documents", "first"),
    [
        ([document(0, code=1, at=9.0, failure=f"RuntimeError: {GLOO}"), document(1, code=3, at=10.0)], 1),
        ([document(0, code=-15, at=9.0), document(1, code=1, at=9.5, failure="ValueError: no")], 0),
        ([document(0, code=-15, at=9.9), document(1, code=1, at=9.5, failure="ValueError: no")], 1),
        ([document(0, code=-6, at=9.0), document(1, code=-11, at=8.0)], 1),
        ([document(0, code=0), document(1, code=0)], None),
        ([document(0), document(1)], None),
    ],
)
def test_the_first_cause_and_not_the_last_victim(documents, first):
    found = outcome.first_of(outcome.fates_of(documents))
    assert (found.rank if found is not None else None) == first


def test_an_interrupted_job_needs_no_words():
    documents = [document(0, code=-2), document(1, code=-15), document(2, code=-2)]
    assert [fate.how for fate in outcome.fates_of(documents)] == ["interrupted"] * 3
    assert told(documents) == []


def test_what_the_tracebacks_say_alone_is_not_said_again():
    documents = [document(0, code=-15, at=12.0), document(1, code=1, at=9.5, failure="ValueError: no")]
    assert told(documents) == []


def test_ranks_that_end_alike_are_one_line(monkeypatch):
    monkeypatch.setenv("DEVSAN_LANG", "en")
    documents = [document(rank, code=-9 if rank == 5 else 0) for rank in range(8)]
    assert told(documents)[2:] == ["  rank 5          killed by SIGKILL", "  ranks 0-4, 6-7  finished"]


def test_a_sample_is_told_as_one(monkeypatch):
    monkeypatch.setenv("DEVSAN_LANG", "en")
    documents = [document(0, code=0), document(511, code=-9)]
    assert told(documents, Sample((0, 511), 512))[1] == "train.py, ranks 0 and 511 of 512:"
    monkeypatch.setenv("DEVSAN_LANG", "zh")
    assert told(documents, Sample((0, 511), 512))[1] == "train.py，512 个 rank 中的 rank 0 和 511："


@pytest.mark.parametrize(
    ("ranks", "said"),
    [([3], "rank 3"), ([1, 0], "ranks 0 and 1"), (range(1, 8), "ranks 1-7"), ([0, 2, 3, 4], "ranks 0, 2-4")],
)
def test_ranks_in_words(ranks, said):
    assert ranks_text(list(ranks)) == said


def started(rank: int, parent: int, start: float) -> dict[str, Any]:
    made = document(rank)
    made["process"].update(parent=parent, start=start, pid=int(start * 10))
    return made


def pids(found: list[list[dict[str, Any]]]) -> list[list[int]]:
    return [[each["process"]["pid"] for each in launch] for launch in found]


def test_launches_are_told_apart():
    """Parents are launchers: of two nodes, of the same ranks again, of another job beside or behind the first."""
    nodes = [started(0, 7, 1), started(1, 7, 2), started(2, 8, 3), started(3, 8, 4)]
    assert pids(record.launches(nodes)) == [[10, 20, 30, 40]]
    again = [started(0, 7, 1), started(1, 7, 2), started(0, 7, 3), started(1, 7, 4)]
    assert pids(record.launches(again)) == [[30, 40]], "an elastic launcher's last attempt counts"
    beside = [started(0, 7, 1), started(0, 8, 2), started(1, 7, 3), started(1, 8, 4)]
    assert pids(record.launches(beside)) == [[10, 30], [20, 40]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GLOO, True),
        ("Rank 0 successfully reached monitoredBarrier, but received errors: Rank(s) failed to pass monitoredBarrier",
         True),
        ("[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)", True),
        ("NCCL communicator was aborted on rank 1.", True),
        ("The client socket has timed out after 300000ms while trying to connect", True),
        ("DDP expects same model across all ranks, but Rank 0 has 2 params, while rank 1 has inconsistent 0 params.",
         True),
        ("DDP expects same model across all ranks, but Rank 0 has 2 params, while rank 1 has inconsistent 3 params.",
         False),
        ("Expected all tensors to be on the same device", False),
    ],
)  # fmt: skip
def test_the_errors_of_a_rank_whose_peer_failed(text, expected):
    assert is_about_peer(text) == expected
