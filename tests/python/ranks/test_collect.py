"""What a rank tells of itself, and what becomes of it: by hand-made documents, without a second process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from devsan.job.ranks import collect, compare  # noqa: E402
from devsan.job.ranks.flight_recorder import by_rank  # noqa: E402
from devsan.job.ranks.source import rank_condition  # noqa: E402

GPUS = ["GPU-a", "GPU-b"]


def document(rank: int, **end: Any) -> dict[str, Any]:
    facts = {
        "process": {
            "rank": rank, "local_rank": rank, "world_size": 2, "device_count": 2, "gpus": GPUS, "backend": "nccl",
            "current_device": f"cuda:{rank}", "set_device_called": rank > 0,
        },
        "host": "node0", "end": {"how": "finished", "time": 10.0, **end},
    }  # fmt: skip
    return {"rank": rank, "facts": facts, "findings": []}


def entry(number: int, name: str, state: str, **more: Any) -> dict[str, Any]:
    return {
        "number": number, "group": "0", "sequence": number, "name": name, "shape": [1024], "elements": 1024,
        "bytes": 4096, "dtype": "float32", "device": "cuda:0", "peer": -1, "started": float(number), "finished": 0.0,
        "state": state, "waited": False, "file": "", "line": 0, "function": "", "error": "", **more,
    }  # fmt: skip


def recording(rank: int, *collectives: dict[str, Any]) -> dict[str, Any]:
    group = {"group": "0", "description": "default_pg", "rank": rank, "size": 2, "ranks": [0, 1]}
    return {"pid": 1, "rank": rank, "world_size": 2, "groups": [group], "collectives": list(collectives)}


# In a process of its own: facts are of the two largest models that are alive, and other tests leave theirs.
COLLECTS = """
import json, torch, devsan
from devsan.job.ranks import collect
devsan.emulate(gpus=2).start()
net = torch.nn.Linear(3, 5).to("cuda:1")
try:
    raise ValueError("first line\\nsecond")
except ValueError as error:
    print(json.dumps(collect.collect(error)))
"""


def test_facts_are_json_and_hold_no_values(tmp_path: Path) -> None:
    program = tmp_path / "collects.py"
    program.write_text(COLLECTS, encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert "missing" not in facts, facts["missing"]
    assert facts["end"]["error"] == "ValueError" and facts["end"]["sentence"] == "first line"
    assert facts["end"]["where"]["file"].endswith("collects.py")
    model = next(each for each in facts["models"] if each["type"] == "Linear" and each["tensors"][0]["shape"] == [5, 3])
    assert [each["name"] for each in model["tensors"]] == ["weight", "bias"]
    assert model["devices"] == ["cuda:1"]
    [memory] = [each for each in facts["memory"] if each["device"] == "cuda:1"]
    assert memory["peak"] >= 1024 and "Linear(3, 5)" in memory["placed"][0]["site"]["source"]


def test_a_part_that_fails_is_missing_and_the_others_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(collect, "memory_of_process", broken)
    facts = collect.collect()
    assert facts["missing"] == {"memory": "RuntimeError: no"}
    assert facts["end"]["how"] == "finished"


def test_who_waits_and_who_was_killed() -> None:
    documents = [document(0, how="raised", error="RuntimeError", sentence="Connection closed by peer"),
                 {"rank": 1, "exit": {"code": None, "signal": 9, "time": 9.0, "by_launcher": False}}]  # fmt: skip
    recordings = [recording(0, entry(1, "all_reduce", "done"), entry(2, "all_reduce", "running")),
                recording(1, entry(1, "all_reduce", "done"))]  # fmt: skip
    [found] = compare.of_job(documents, recordings)
    assert (found["code"], found["ranks"], found["ranks_text"]) == ("DV306", [1], "rank 1")
    assert found["victims"] == ["rank 0 waits in all_reduce of float32[1024] (4 KiB), for 8 s"]
    assert found["notes"] == found["victims"]
    assert json.loads(json.dumps(found)) == found


def test_a_call_that_devsan_wraps_is_told_by_the_programs_line(tmp_path: Path) -> None:
    (program := tmp_path / "train.py").write_text("loss.backward()\n", encoding="utf-8")
    waiting = {**document(0, how="raised", error="RuntimeError", sentence="Connection closed by peer"),
               "stack": [{"file": str(program), "line": 1, "function": "<module>"}]}  # fmt: skip
    killed = {"rank": 1, "exit": {"code": None, "signal": 9, "time": 9.0, "by_launcher": False}}
    for file, through in ((collect.__file__, ""), (torch.__file__, " (torch/__init__.py:7)")):
        call = entry(2, "all_reduce", "running", file=file, line=7, function="watched")
        [found] = compare.of_job([waiting, killed], [recording(0, call)])
        told = f"rank 0 waits in all_reduce of float32[1024] (4 KiB), at train.py:1{through}, for 8 s"
        assert found["victims"] == [told]


def test_an_error_counts_also_of_a_rank_that_was_killed_before_it_looked_back() -> None:
    killed = {"code": None, "signal": 9, "time": 12.0, "by_launcher": False}
    failure = {"type": "RuntimeError", "time": 11.0, "place": "train.py:3"}
    own = {"id": "i", "cause": "c", "code": "DV103", "name": "host-boundary", "title": "t", "severity": "error",
           "kind": "mixed", "sentence": "s", "evidence": ["e"], "fixes": [], "notes": []}  # fmt: skip
    culprit = {**document(1, how="raised", error="RuntimeError", sentence="s"), "findings": [own]}
    for message, codes in (("\nConnection closed by peer", ["DV103"]), ("no such file", ["DV103", "DV306"])):
        victim = {"rank": 0, "facts": None, "failure": {**failure, "message": message}, "exit": killed}
        found = compare.of_job([victim, culprit], [])
        assert [each["code"] for each in found] == codes
    assert found[-1]["title"] == "rank 0 raised RuntimeError: no such file"


def test_the_launchers_sigterm_is_no_death_of_its_own() -> None:
    documents = [document(0), {"rank": 1, "exit": {"code": -15, "signal": None, "time": 9.0, "by_launcher": True}}]
    assert compare.of_job(documents, []) == []


def test_a_stack_that_a_signal_left_tells_the_call(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import x\nif rank == 0:\n    dist.barrier()\n", encoding="utf-8")
    c10d = str(Path(torch.__file__).parent / "distributed" / "distributed_c10d.py")
    stack = [{"file": c10d, "line": 5000, "function": "barrier"},
             {"file": str(program), "line": 3, "function": "<module>"}]  # fmt: skip
    left = {"code": None, "signal": 15, "time": 9.0, "by_launcher": True}
    [found] = compare.of_job([{"rank": 0, "stack": stack, "exit": left}, document(1)], [])
    assert (found["code"], found["ranks"]) == ("DV304", [1])
    assert any("`rank == 0`" in sentence for sentence in found["evidence"])


def test_a_ranks_own_finding_is_told_under_the_heading_of_all() -> None:
    own = {
        "id": "i", "cause": "c", "code": "DV104", "name": "reduction-boundary", "title": "t", "severity": "error",
        "kind": "mixed", "sentence": "s", "evidence": ["e"], "fixes": [], "notes": [], "headline": "t", "rank": "0",
    }  # fmt: skip
    documents = [document(rank, how="raised", error="RuntimeError", sentence="s") for rank in (0, 1)]
    for each in documents:
        each["findings"] = [own]
    [found] = compare.of_job(documents, [])
    assert found["ranks"] == [0, 1] and found["of"] == {"rank": 0, "finding": 0}
    assert found["rank"] == "ranks 0 and 1" and found["headline"] == "t"


def test_of_several_that_run_the_oldest_is_the_one_that_is_waited_for() -> None:
    calls = by_rank([recording(0, entry(1, "broadcast", "done"), entry(2, "all_reduce", "running"),
                             entry(3, "barrier", "running"))])  # fmt: skip
    assert [(each["name"], each["sequence"], each["finished"]) for each in calls[0]] == [("all_reduce", 2, False)]


def test_the_call_that_others_met_is_kept() -> None:
    went_on = recording(0, entry(1, "broadcast", "done", shape=[80]), entry(2, "broadcast", "failed"))
    ended = recording(1, entry(1, "broadcast", "running", shape=[72]))
    calls = by_rank([went_on, ended])
    assert [(each["sequence"], each["shapes"]) for each in calls[0]] == [(2, [[1024]]), (1, [[80]])]
    documents = [document(0, how="raised", error="RuntimeError", sentence="Connection closed by peer"),
                 {"rank": 1, "exit": {"code": None, "signal": 6, "time": 9.0, "by_launcher": False}}]  # fmt: skip
    [found] = compare.of_job(documents, [went_on, ended])
    assert found["code"] == "DV305" and "different sizes" in found["title"]


def test_a_rank_that_could_tell_nothing_is_on_the_machine_of_the_others() -> None:
    from devsan.job.ranks.facts import completed

    told = document(0)
    told["facts"]["process"]["local_world_size"] = 2
    silent: dict[str, Any] = {"rank": 1, "exit": {"signal": 9}}
    found = completed({0: told, 1: silent})[1]
    assert found["facts"]["host"] == "node0" and found["facts"]["process"]["gpus"] == GPUS
    told["facts"]["process"]["local_world_size"] = 1  # two machines
    assert completed({0: told, 1: silent})[1] is silent


def test_a_receiver_waits_for_its_sender_alone() -> None:
    [call] = by_rank([recording(0, entry(1, "recv", "running", peer=1))])[0]
    assert call["members"] == [0, 1] and call["sequence"] == 0


@pytest.mark.parametrize(
    ("line", "condition"), [(2, "rank == 0"), (4, "not (rank == 0)"), (6, "accelerator.is_main_process"), (8, "")]
)
def test_tests_about_ranks_are_found(line: int, condition: str, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    text = "if rank == 0:\n    a()\nelse:\n    b()\nif accelerator.is_main_process:\n    c()\nif verbose:\n    d()\n"
    file.write_text(text, encoding="utf-8")
    assert rank_condition(str(file), line) == condition


@pytest.mark.parametrize(
    ("text", "line", "condition"),
    [
        ("r = int(os.environ['LOCAL_RANK'])\nif r == 0:\n    a()\n", 3, "r == 0"),
        ("r = dist.get_rank()\nmain = r == 0\nif main:\n    a()\n", 4, "main"),
        ("for x in y:\n    if rank != 0:\n        continue\n    a()\n", 4, "not (rank != 0)"),
        ("def f():\n    if rank != 0:\n        return\n    a()\n", 4, "not (rank != 0)"),
        ("def f():\n    if rank > 8:\n        raise ValueError\n    a()\n", 4, ""),
        ("if local_rank != -1:\n    a()\n", 2, ""),
        ("if local_rank in [-1, 0]:\n    a()\n", 2, "local_rank in [-1, 0]"),
        ("if 'RANK' in os.environ:\n    a()\n", 2, ""),
        ("device = f'cuda:{rank}'\nif device != 'cpu':\n    a()\n", 3, ""),
        ("r = lora.lora_rank\nif r:\n    a()\n", 3, ""),
        ("while rank == 0:\n    b()\n    break\na()\n", 4, ""),
        ("def f():\n    i = rank\ndef g():\n    if i % 2:\n        a()\n", 5, ""),
        ("model = DDP(net, device_ids=[rank])\nif model.training:\n    a()\n", 3, ""),
        ("for x in y:\n    if rank != 0:\n        log()\n    a()\n", 4, ""),
    ],
)
def test_what_only_some_ranks_reach(tmp_path: Path, text: str, line: int, condition: str):
    file = tmp_path / "train.py"
    file.write_text(text, encoding="utf-8")
    assert rank_condition(str(file), line) == condition
