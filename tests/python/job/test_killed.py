"""Ranks and launchers that are killed: the others end, the report names who it was, nothing stays behind."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

KILLED = """\
import datetime, os, signal, threading, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
rank = dist.get_rank()
torch.cuda.set_device(rank)
x = torch.ones(1 << 20, device="cuda")
dist.all_reduce(x)
if rank == 1:
    dist.broadcast(x, 2, async_op=True)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
    dist.broadcast(x, 2)
elif rank == 2:
    threading.Event().wait(20)
dist.all_reduce(x)
"""


def test_a_rank_that_is_killed_in_a_collective(job):
    """Rank 1 waits in a broadcast when it is killed, rank 0 in an all_reduce with it, rank 2 elsewhere."""
    job.write("train.py", KILLED)
    start = time.monotonic()
    done = job.devsan("run", "--gpus", "3", "--", "torchrun", "--nproc-per-node", "3", "train.py")
    assert time.monotonic() - start < 60
    assert done.returncode == 1
    assert "error[DV306]: rank 1 was killed by SIGKILL" in done.stderr, done.stderr
    lines = done.stderr.partition("\ntrain.py, 3 ranks:\n")[2].splitlines()
    assert lines[0].split(maxsplit=2) == ["rank", "1", "killed by SIGKILL"]
    assert any("ended by the launcher" in line and "2" in line.split("ended")[0] for line in lines), lines
    assert job.left() == ([], [])


WAITS = """\
import os, signal, sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.ones(2, device="cuda")
dist.barrier()
if dist.get_rank() == 0:
    print("here", flush=True)
time.sleep(100)
"""


@pytest.mark.drawn(2)
@pytest.mark.parametrize("whom", ["devsan", "devsan, as by nobody", "launcher"])
def test_what_is_killed_from_outside(job, whom):
    """devsan run ends as its command does; a SIGKILL ends neither the report nor leaves anything."""
    job.write("train.py", WAITS)
    module = ["-m", "torch.distributed.run"] if whom == "launcher" else ["--", "torchrun"]
    words = [sys.executable, "-m", "devsan", "run", "--gpus", "2", *module, "--nproc-per-node", "2", "train.py"]
    process = job.start(*words)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == "here\n"
    assert len(job.folders()) == 1
    process.send_signal(signal.SIGTERM if whom == "devsan" else signal.SIGKILL)
    process.wait(60)
    if whom == "launcher":  # torchrun's workers outlive it on every machine: they are ended here
        for pid in job.processes(b"RANK="):
            os.kill(pid, signal.SIGKILL)
    error = process.stderr.read()
    assert job.left(20) == ([], []), error
    assert process.returncode == (1 if whom == "devsan" else -signal.SIGKILL)
    assert ("killed by SIGKILL" in error) == (whom == "launcher"), error


def test_a_folder_that_nobody_could_remove_is_removed_by_the_next_run(job):
    left = job.temporary / "devsan-job-left"
    left.mkdir()
    left.joinpath("owner").write_text("4194303 1", encoding="ascii")
    mine = job.temporary / "devsan-job-living"
    mine.mkdir()
    mine.joinpath("owner").write_text(f"{os.getpid()} 0", encoding="ascii")
    job.temporary.joinpath("devsan-job-file").write_text("another's")
    assert job.devsan("run", "--gpus", "1", "--", "true").returncode == 0
    assert sorted(job.folders()) == ["devsan-job-file", "devsan-job-living"]
