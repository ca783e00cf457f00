"""``devsan run --format json, html, sarif or perfetto``: one report in a file, of a program and of a job."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

import pytest

MOVES = """\
import torch
a = torch.ones(1024, device="cuda:0")
a.to("cuda:1")
print("done")
"""
FAILS = MOVES + "a + torch.ones(1024)\n"
RANKS = """\
import os, torch, torch.distributed as dist
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.ones(4, device="cuda")
dist.all_reduce(x)
if "MIX" in os.environ:
    x + torch.ones(4)
dist.destroy_process_group()
"""
SPAWNS = """\
import torch

def work(rank):
    torch.ones(4, device=f"cuda:{rank}") + torch.ones(4)

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, nprocs=2)
"""
TOLD = "devsan: the report is in report."


def read(job, name="report.json") -> Any:
    return json.loads((job.folder / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", ["json", "html", "sarif", "perfetto"])
@pytest.mark.long
def test_a_program_that_fails(job, form):
    job.write("train.py", FAILS)
    done = job.devsan("run", "--format", form, "-o", f"report.{form}", "train.py")
    assert (done.returncode, done.stdout) == (1, "done\n")
    assert done.stderr.count("error[DV102") == 1, "what is on a terminal stays there"
    assert done.stderr.endswith(f"{TOLD}{form}\n")
    assert sorted(os.listdir(job.folder)) == [f"report.{form}", "train.py"]
    text = (job.folder / f"report.{form}").read_text(encoding="utf-8")
    assert "DV102" in text
    if form == "json":
        assert [finding["code"] for finding in json.loads(text)["findings"]] == ["DV102"]
    assert job.left() == ([], [])


@pytest.mark.parametrize("gpus", ["2", "real"])
def test_a_program_that_works(job, gpus):
    job.write("train.py", MOVES if gpus == "2" else "print('done')")
    done = job.devsan("run", "-q", "--gpus", gpus, "--format", "sarif", "-o", "report.sarif", "train.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", f"{TOLD}sarif\n")
    [run] = read(job, "report.sarif")["runs"]
    assert run["results"] == [] and run["invocations"][0]["executionSuccessful"]
    assert job.left() == ([], [])


@pytest.mark.long
@pytest.mark.parametrize("mixes", [True, False])
def test_a_job(job, mixes):
    job.write("train.py", RANKS)
    words = [
        "run",
        "-q",
        "--format",
        "json",
        "-o",
        "report.json",
        "--",
        "torchrun",
        "--nproc-per-node",
        "2",
        "train.py",
    ]
    done = job.devsan(*words, **({"MIX": "1"} if mixes else {}))
    assert (done.returncode != 0) == mixes, done.stderr
    assert done.stderr.count("error[") == mixes and done.stderr.endswith(f"{TOLD}json\n")
    assert "the run is in" not in done.stderr
    runs = read(job)
    assert [run["process"]["rank"] for run in runs] == [0, 1]
    assert [[finding["code"] for finding in run["job"]["findings"]] for run in runs] == [["DV102"] * mixes] * 2
    assert sorted(os.listdir(job.folder)) == ["report.json", "train.py"]
    assert job.left() == ([], [])


@pytest.mark.long
def test_a_job_of_a_launcher_that_is_not_under_devsan_run(job):
    job.write("train.py", RANKS)
    options = "gpus=2:format=sarif:output=report.sarif"
    done = job.run("torchrun", "--nproc-per-node", "2", "train.py", DEVSAN_OPTIONS=options, MIX="1")
    assert done.returncode != 0 and done.stderr.endswith(f"{TOLD}sarif\n"), done.stderr
    [run] = read(job, "report.sarif")["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["DV102"]
    assert job.left() == ([], [])


def test_which_rank_waited_where(job):
    """Rank 1 is killed between two collectives; rank 0 waits in the second."""
    killed = "if dist.get_rank() == 1: os.kill(os.getpid(), 9)\ndist.all_gather([x, x.clone()], x)\ndist.destroy"
    job.write("train.py", RANKS.replace("dist.destroy", killed))
    job.devsan("run", "-o", "report.json", "--", "torchrun", "--nproc-per-node", "2", "train.py")
    ranks = read(job)[0]["job"]["ranks"]
    assert [(rank["how"], rank["waited_in"]) for rank in ranks][1] == ("killed", "")
    assert ranks[0]["how"] in ("peer_failed", "terminated")
    assert ranks[0]["waited_in"] == "all_gather"
    assert job.left() == ([], [])


@pytest.mark.long
def test_ranks_that_the_program_starts_itself(job):
    """The program's own process has nothing to show beside them."""
    job.write("train.py", SPAWNS)
    done = job.devsan("run", "--format", "json", "-o", "report.json", "train.py")
    assert done.returncode != 0 and done.stderr.endswith(f"{TOLD}json\n"), done.stderr
    runs = read(job)
    assert {run["job"]["findings"][0]["code"] for run in runs} == {"DV113"}
    assert job.left() == ([], [])


def test_a_command_that_uses_no_gpu(job):
    done = job.devsan("run", "-q", "--format", "html", "-o", "report.html", "--", "true")
    assert (done.returncode, done.stderr) == (0, "devsan: no report in report.html: no process has used a GPU\n")
    assert os.listdir(job.folder) == []


def test_a_place_that_is_gone_at_the_end_costs_the_report_alone(job):
    job.write("train.py", "import os; os.rmdir('reports'); raise SystemExit(5)")
    (job.folder / "reports").mkdir()
    done = job.devsan("run", "--format", "html", "-o", "reports/report.html", "train.py")
    assert done.returncode == 5
    assert done.stderr.startswith("devsan: no report in reports/report.html: ") and done.stderr.count("\n") == 1


@pytest.mark.long
def test_an_owner_that_is_killed(job):
    """Its watchdog makes the file."""
    job.write("train.py", RANKS.replace("dist.destroy", "open('ready', 'w'); import time; time.sleep(3); dist.destroy"))
    process = job.start(
        "python", "-m", "devsan", "run", "--format", "json", "-o", "report.json", "--",
        "torchrun", "--nproc-per-node", "2", "train.py",
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (job.folder / "ready").exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert job.left(30.0) == ([], [])
    assert [run["process"]["rank"] for run in read(job)] == [0, 1]
