"""``--ranks``: of a launch of 64 nodes with 8 ranks each, two run."""

from __future__ import annotations

import json
import os

import pytest

PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE")
TRAIN = f"""\
import json, os, sys, torch, torch.distributed as dist
dist.init_process_group("cpu:gloo,cuda:nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1, bias=False).cuda())
loss = model(torch.full((1, 4), float(dist.get_rank()), device="cuda")).sum()
loss.backward()
dist.monitored_barrier(dist.new_group(backend="gloo"))
place = {{name: int(os.environ[name]) for name in {PLACE}}}
print(json.dumps([place, model.module.weight.grad.tolist()]) + "\\n", end="")
if "fail" in sys.argv and dist.get_rank():
    model.module(torch.ones(1, 4))
if "kill" in sys.argv and dist.get_rank():
    os.kill(os.getpid(), 9)
if "skip" in sys.argv and dist.get_rank():
    sys.exit()
dist.all_reduce(torch.ones(4, device="cuda"))
"""
SAMPLE = ("run", "--gpus", "8", "--ranks", "first,-8")
LAUNCH = ("--nnodes", "64", "--nproc-per-node", "8", "--rdzv-endpoint", "head:29500", "train.py")
LAUNCHERS = {
    "torchrun": ("torchrun", *LAUNCH),
    "accelerate": ("accelerate", "launch", "--multi_gpu", "--num_machines", "64", "--num_processes", "512",
                   "--machine_rank", "3", "--main_process_ip", "10.0.0.1", "--main_process_port", "29500",
                   "--mixed_precision", "no", "--dynamo_backend", "no", "train.py"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("launcher", ["torchrun", pytest.param("accelerate", marks=pytest.mark.rare)])
def test_a_sample_of_a_launch(job, launcher):
    job.write("train.py", TRAIN)
    done = job.devsan(*SAMPLE, "--", *LAUNCHERS[launcher])
    assert done.returncode == 0, done.stderr
    places = sorted(((rank["RANK"], rank), gradient) for rank, gradient in map(json.loads, done.stdout.splitlines()))
    assert [place for (_, place), _ in places] == [
        dict(zip(PLACE, values, strict=True)) for values in ((0, 512, 0, 8, 0, 64), (504, 512, 0, 8, 63, 64))
    ]
    # Rank 0 stands for 504 ranks, and its inputs are zeros.
    assert [gradient for _, gradient in places] == [[[504 * 8 / 512] * 4]] * 2
    assert done.stderr.splitlines()[-2].startswith("devsan: 8 GPUs, ranks 0 and 504 of 512, no findings,")
    assert job.left() == ([], [])


@pytest.mark.long
def test_a_rank_that_fails_has_its_number_in_the_whole_launch(job):
    job.write("train.py", TRAIN)
    done = job.devsan(*SAMPLE, "-m", "torch.distributed.run", *LAUNCH, "fail")
    assert done.returncode == 1
    assert "rank      : 504 (local_rank: 1)" in done.stderr, "of torchrun"
    _, title, report = done.stderr.partition("error[DV103]: operands of aten::mm are on cpu and cuda:0\n")
    assert title and report.splitlines()[0].endswith(" rank 504"), done.stderr
    assert done.stderr.count("error[") == 1
    assert job.left() == ([], [])


@pytest.mark.long
def test_the_report_and_the_run_files_name_the_sample(job):
    job.write("train.py", TRAIN)
    done = job.devsan(*SAMPLE, "-o", "run.dvs", "--", "torchrun", *LAUNCH, "kill")
    assert done.returncode == 1
    told = "train.py kill, ranks 0 and 504 of 512:\n  rank 504  killed by SIGKILL\n  rank 0    "
    assert told in done.stderr
    assert sorted(path.name for path in job.folder.glob("*.dvs")) == ["run.rank0.dvs", "run.rank504.dvs"]
    assert told in job.devsan("report", "run.dvs").stdout
    assert job.left() == ([], [])


@pytest.mark.long
def test_a_rank_of_the_sample_that_does_not_come(job):
    """It is named, and nobody who does not run."""
    text = TRAIN.replace('"cpu:gloo,cuda:nccl"', '"cpu:gloo,cuda:nccl", timeout=datetime.timedelta(seconds=3)')
    job.write("train.py", f"import datetime\n{text}")
    done = job.devsan("run", "--gpus", "8", "--ranks", "0,7,511", "--", "torchrun", *LAUNCH, "skip")
    assert done.returncode == 1
    assert "error[DV304]: ranks 7 and 511 have not reached all_reduce, where rank 0 waits\n" in done.stderr
    assert job.left() == ([], [])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--ranks", "0,512", "--", "torchrun", *LAUNCH],
         "expected --ranks of 0 to 511, which the launch has, got 512"),
        (["--ranks", "all", "--", "torchrun", *LAUNCH], "expected ranks such as 0,7, 0-3, first or last, got 'all'"),
        (["--ranks", "0", "--", "torchrun", "--virtual-local-rank", *LAUNCH],
         "expected ranks that read LOCAL_RANK with --ranks, got --virtual-local-rank or torch.distributed.launch"),
        (["--ranks", "0", "--", "deepspeed", "train.py"],
         "expected a launch by torchrun, python -m torch.distributed.run or accelerate launch, with --ranks, got one "
         "by deepspeed"),
        (["--ranks", "0", "-c", "import torch"],
         "expected a command that starts ranks by torchrun, python -m torch.distributed.run or accelerate launch, with "
         "--ranks, got one that started none"),
    ],
    ids=["no-such-rank", "no-rank", "virtual", "deepspeed", "no-launcher"],
)  # fmt: skip
@pytest.mark.long
def test_what_cannot_be_a_sample_is_one_sentence(job, words, sentence):
    if "deepspeed" in words:
        pytest.importorskip("deepspeed", reason="its launcher is the one that is refused")
    job.write("train.py", "open('ran', 'w')\n")
    done = job.devsan("run", "--gpus", "8", *words)
    assert done.returncode == 2, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("devsan: ")] == [f"devsan: {sentence}"]
    assert "Traceback" not in done.stderr
    assert not os.path.exists(job.folder / "ran")


@pytest.mark.long
def test_ranks_that_something_else_starts_do_not_wait(job):
    job.write("train.py", "import torch.distributed as dist\ndist.init_process_group('gloo', rank=0, world_size=2)\n")
    done = job.devsan("run", "--ranks", "0", "train.py")
    assert done.returncode == 2
    assert "devsan: expected ranks started by torchrun, " in done.stderr
    assert "Traceback" not in done.stderr
