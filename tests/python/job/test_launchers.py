"""Launchers, unchanged: the ranks of each have their emulated GPUs, and one report speaks for all."""

from __future__ import annotations

import pytest

FAILS = """\
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = torch.nn.Linear(8, 8).cuda()
if dist.get_rank() >= 1:
    model(torch.randn(4, 8))
dist.barrier()
"""
TITLE = "error[DV103]: operands of aten::addmm are on cuda:1 and cpu"


def test_torchrun_behind_devsan_run(job):
    job.write("train.py", FAILS)
    done = job.devsan("run", "--gpus", "3", "--", "torchrun", "--nproc-per-node", "3", "train.py")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("error[") == 1, done.stderr
    launcher, _, report = done.stderr.partition("\n" + TITLE)
    assert "ChildFailedError" in launcher, "the report comes behind what the launcher says"
    assert "ranks 1 and 2\n" in report and "train.py:6:5" in report
    assert "Expected all tensors" in launcher and "Expected all tensors" not in report
    lines = [line for line in report.splitlines() if line.startswith("  rank")]
    assert lines[0] == "  ranks 1 and 2  failed at train.py:6: the report is above"
    assert lines[1].startswith("  rank 0         failed at train.py:7, ")
    assert "because a peer rank failed: RuntimeError: Connection closed by peer" in lines[1]
    assert job.left() == ([], [])


@pytest.mark.long
def test_the_launcher_itself_under_devsan_run(job):
    """As for ``DEVSAN_OPTIONS=gpus=2 torchrun``: the emulation is in the launcher's process too."""
    job.write("train.py", FAILS)
    words = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py"]
    done = job.devsan("run", "--gpus", "2", "--format", "github", *words)
    assert done.returncode == 1
    assert done.stderr.count(TITLE) == 1 and done.stderr.count("error[") == 1
    assert done.stderr.index("ChildFailedError") < done.stderr.index(TITLE)
    assert done.stderr.count("::error file=train.py,line=6") == 1
    assert job.left() == ([], [])


@pytest.mark.long
def test_options_in_the_environment_alone(job):
    job.write("train.py", FAILS)
    done = job.run("torchrun", "--nproc-per-node", "2", "train.py", DEVSAN_OPTIONS="gpus=2:output=run.dvs")
    assert done.returncode == 1
    assert done.stderr.count(TITLE) == 1 and done.stderr.count("error[") == 1
    assert done.stderr.index("ChildFailedError") < done.stderr.index(TITLE)
    assert sorted(path.name for path in job.folder.glob("run.rank*.dvs")) == ["run.rank0.dvs", "run.rank1.dvs"]
    told = "devsan: the run is in run.rank0.dvs to run.rank1.dvs; devsan report run.rank0.dvs run.rank1.dvs shows it\n"
    assert told in done.stderr
    assert job.left() == ([], [])


@pytest.mark.long
def test_without_a_report(job):
    job.write("train.py", FAILS)
    done = job.devsan("run", "--gpus", "2", "--format", "off", "--", "torchrun", "--nproc-per-node", "2", "train.py")
    assert done.returncode == 1
    assert "Expected all tensors to be on the same device" in done.stderr
    assert "DV103" not in done.stderr and "the report is above" not in done.stderr
    assert job.left() == ([], [])


SPAWNS = """\
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
def work(rank):
    dist.init_process_group("gloo", rank=rank, world_size=2)
    x = torch.ones(2, device=f"cuda:{rank}")
    if rank == 1:
        x + torch.ones(2)
    dist.barrier()
if __name__ == "__main__":
    print(torch.cuda.device_count())
    mp.spawn(work, nprocs=2)
"""


@pytest.mark.long
def test_torch_multiprocessing_spawn(job):
    job.write("train.py", SPAWNS)
    done = job.devsan("run", "--gpus", "2", "train.py")
    assert done.returncode == 1
    assert done.stdout == "2\n"
    assert done.stderr.count("error[") == 1, done.stderr
    assert done.stderr.index("ProcessRaisedException") < done.stderr.index("error[")
    report = done.stderr[done.stderr.index("error[") :]
    assert "operands of aten::add are on cuda:1 and cpu" in report and "rank 1\n" in report
    assert "Expected all tensors" not in report, "the traceback of the rank is above"
    assert "\ntrain.py, 2 ranks:\n  rank 1  failed at train.py:6: the report is above\n" in report
    assert job.left() == ([], [])


TWO_NODES = """\
for node in 0 1; do
  torchrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-id job --rdzv-endpoint 127.0.0.1:$MASTER_PORT \\
    --local-addr 127.0.0.1 train.py &
done
wait
"""
ON_A_NODE = """\
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.full((2,), float(dist.get_rank()), device="cuda")
dist.all_reduce(x)
held = torch.empty(600 << 20, dtype=torch.uint8, device="cuda")  # twice that is more than one GPU has
dist.barrier()
os.write(1, f"{os.environ['GROUP_RANK']} {dist.get_rank()} {x.tolist()} {torch.cuda.device_count()}\\n".encode())
dist.barrier()
"""


@pytest.mark.long
def test_two_nodes_on_one_machine(job):
    """Two launchers, one rendezvous: each node has GPUs of its own."""
    job.write("train.py", ON_A_NODE)
    job.write("nodes.sh", TWO_NODES)
    done = job.devsan("run", "--gpus", "4", "--memory", "1000MiB", "--", "bash", "nodes.sh")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{rank // 2} {rank} [6.0, 6.0] 4" for rank in range(4)]
    assert "error[" not in done.stderr, done.stderr
    assert job.left() == ([], [])


BY_HAND = """\
for rank in 0 1; do RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 python train.py & done
wait
"""


@pytest.mark.long
@pytest.mark.parametrize("above", [True, False])
def test_a_shell_that_starts_each_rank(job, above):
    """devsan run stands above the shell and speaks for all; without it each rank has nobody, and speaks for itself."""
    job.write("train.py", FAILS)
    job.write("start.sh", BY_HAND)
    if above:
        done = job.devsan("run", "--gpus", "2", "--", "bash", "start.sh")
        assert "\n" + TITLE in done.stderr
    else:
        done = job.run("bash", "start.sh", DEVSAN_OPTIONS="gpus=2")
        assert f"[rank1]: {TITLE}" in done.stderr, "as torch marks what a rank prints behind its traceback"
    assert done.returncode == 0
    assert done.stderr.count("error[") == 1
    assert ("the report is above" in done.stderr) == above
    assert job.left() == ([], [])
