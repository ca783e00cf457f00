"""The report of a run does not say whether the run was recorded."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("torch")

WAITS_IN_BACKWARD = """\
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
model = DistributedDataParallel(torch.nn.Linear(4, 4, device="cuda"))
for step in range(2):
    loss = model(torch.ones(2, 4, device="cuda")).sum()
    if dist.get_rank() == 1 and step == 1:
        raise ValueError("no more data")
    loss.backward()
"""
FILLS_THE_GPU = """\
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(16)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randn(64, 1024, device="cuda")).sum().backward()
optimizer.step()
"""
LAUNCHES = {
    "a rank waits in a backward pass": (
        WAITS_IN_BACKWARD, ["--gpus", "2"], ["--", "torchrun", "--nproc-per-node", "2"]
    ),
    "a GPU is full in a step": (FILLS_THE_GPU, ["--gpus", "1", "--memory", "360MiB"], []),
}  # fmt: skip


@pytest.mark.drawn(2)
@pytest.mark.parametrize("launch", LAUNCHES)
def test_a_recorded_run_has_the_report_of_one_that_is_not(job, launch: str) -> None:
    program, gpus, launcher = LAUNCHES[launch]
    job.write("train.py", program)
    reports: list[str] = []
    for recorded in ([], ["-o", "run.dvs"]):
        done = job.devsan("run", *gpus, *recorded, *launcher, "train.py")
        assert "devsan/run_files" not in done.stderr, "no frame of DevSan's in a traceback"
        [report] = re.findall(r"^error\[DV.*?^more: ", done.stderr, re.MULTILINE | re.DOTALL)
        reports.append(re.sub(r", for\s+[\d.]+\s+m?s\b", "", report))
    assert reports[0] == reports[1]
    assert "run_files" not in reports[1]
    if launch.startswith("a GPU"):
        assert re.search(r"temporary\s+results\s+of\s+operators", reports[0])
