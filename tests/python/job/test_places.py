"""``--policy warn`` in a job: one list of the places at which its ranks went on."""

from __future__ import annotations

from typing import Any

import pytest

from devsan.diagnostics.messages import message
from devsan.job.places import joined, text_of
from devsan.render.language import language_named

PROGRAM = """\
import os, torch
rank = int(os.environ["RANK"])
weight = torch.ones(4, device=f"cuda:{rank}")
for step in range(3):
    late = torch.zeros(4)
    weight = weight + late
if rank == 1:
    weight.mul_(torch.ones(4))
print("done", weight.device)
"""


@pytest.mark.long
def test_a_job_has_one_list(job):
    job.write("train.py", PROGRAM)
    done = job.devsan("run", "-q", "--gpus", "3", "--policy", "warn", "--",
                      "torchrun", "--standalone", "--nproc-per-node", "3", "train.py")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["cuda:0", "cuda:1", "cuda:2", "done", "done", "done"]
    assert done.stderr.count("the program continued after mismatches") == 1, done.stderr
    assert done.stderr.endswith(
        "devsan: the program continued after mismatches at 2 places with 1 cause (policy=warn); "
        "on a real GPU it ends at the first\n"
        "  DV102 fresh-tensor\n"
        "    train.py:6:14  operands of aten::add are on cuda:0 and cpu, 3 times in ranks 0-2\n"
        "    train.py:8:5   operands of aten::mul_ are on cuda:1 and cpu in rank 1\n"
    ), done.stderr
    assert done.stderr.count("warning[") == 1
    assert job.left() == ([], [])


def document(rank: int, *places: tuple[str, str, int]) -> dict[str, Any]:
    found = [{"where": where, "title": title, "cause": "DV102 fresh", "name": "DV102 fresh-tensor", "times": times}
             for where, title, times in places]  # fmt: skip
    return {"process": {"rank": rank}, "places": found}


def test_the_same_line_on_other_gpus_is_one_place():
    titles = [
        message("operands of {op} are on {devices} and {last}", op="aten::add", devices=f"cuda:{rank}", last="cpu")
        for rank in (0, 1)
    ]
    documents = [document(rank, ("a.py:1:1", title, 3)) for rank, title in enumerate(titles)]
    [place] = joined(documents)
    assert (place.title, place.times) == (titles[0], {0: 3, 1: 3})
    documents[1]["places"][0]["times"] = 7
    assert text_of(joined(documents), with_ranks=True).splitlines()[1:] == [
        "  DV102 fresh-tensor",
        "    a.py:1:1  operands of aten::add are on cuda:0 and cpu, 3 to 7 times in ranks 0 and 1",
    ]
    head, _, line = language_named("zh").text(text_of(joined(documents), with_ranks=True)).splitlines()
    assert head.startswith("程序在设备不一致之后继续运行") and "1 处" in head
    assert "aten::add 的操作数分别位于 cuda:0 和 cpu" in line and "3 到 7 次" in line and "rank 0 和 1" in line


def test_ranks_without_any_have_no_list():
    assert joined([document(0), {"process": {"rank": 1}}]) == []
