"""Ranks on one emulated GPU have its memory between them; what a killed rank held is there again at once."""

from __future__ import annotations

import pytest

ON_ONE_GPU = """\
import os, signal, sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, mib = dist.get_rank(), 1 << 20
free = torch.cuda.mem_get_info(0)[0]
held = torch.empty((1000 if rank == 1 else 100) * mib, dtype=torch.uint8, device="cuda:0")
dist.barrier()
pids = [None, None]
dist.all_gather_object(pids, os.getpid())
if rank == 1:
    time.sleep(60)
print("free", torch.cuda.mem_get_info(0)[0] // 10**8, "used beside", torch.cuda.memory_reserved(0) // mib)
try:
    torch.empty(1400 * mib, dtype=torch.uint8, device="cuda:0")
except torch.OutOfMemoryError as error:
    print(str(error).replace(str(pids[1]), "OTHER"))
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the launcher's, which sees the death as soon as this rank does
os.kill(pids[1], signal.SIGKILL)
while torch.cuda.mem_get_info(0)[0] // 10**8 != 23:
    time.sleep(0.01)
torch.empty(1400 * mib, dtype=torch.uint8, device="cuda:0")
print("room again")
sys.stdout.flush()
"""


@pytest.mark.long
def test_two_ranks_run_out_of_memory_together(job):
    job.write("train.py", ON_ONE_GPU)
    done = job.devsan(
        "run", "--gpus", "1", "--memory", "2400MiB", "--", "torchrun", "--nproc-per-node", "2", "train.py",
        CUDA_VISIBLE_DEVICES="0",
    )  # fmt: skip
    # of 2400 MiB: 1000 and 100 MiB, and two contexts of 48 MiB
    lines = done.stdout.splitlines()
    assert lines[:1] == ["free 12 used beside 100"], done.stderr
    assert "Tried to allocate 1.37 GiB. GPU 0 has a total capacity of 2.34 GiB of which 1.18 GiB is free. " in lines[1]
    assert "Process OTHER has 1.02 GiB memory in use. " in lines[1]
    assert "Including non-PyTorch memory, this process has 148.00 MiB memory in use. " in lines[1]
    assert lines[2:] == ["room again"]
    assert "  rank 1  killed by SIGKILL\n" in done.stderr, done.stderr
    assert job.left() == ([], [])


ASK_NVML = """\
import os, pynvml, torch, torch.distributed as dist
dist.init_process_group("gloo")
held = torch.empty((dist.get_rank() + 1) << 30, dtype=torch.uint8, device="cuda:0")
pids = [None, None]
dist.all_gather_object(pids, os.getpid())
pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
found = {process.pid: process.usedGpuMemory for process in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)}
used = pynvml.nvmlDeviceGetMemoryInfo(gpu).used
os.write(1, f"{[found[pid] >> 30 for pid in pids]} {used == sum(found.values())}\\n".encode())
dist.barrier()
"""


@pytest.mark.long
def test_nvml_lists_the_ranks_on_a_gpu(job):
    job.write("train.py", ASK_NVML)
    done = job.devsan("run", "--gpus", "2", "--", "torchrun", "--nproc-per-node", "2", "train.py")
    assert done.stdout.splitlines() == ["[1, 2] True"] * 2, done.stderr


ALONE = """\
import sys, time, torch
held = torch.empty(1 << 30, dtype=torch.uint8, device="cuda:0")
print(torch.cuda.mem_get_info(0)[0] // 10**8, flush=True)
sys.stdin.readline()
"""


def test_two_runs_share_nothing(job):
    import subprocess
    import sys

    job.write("train.py", ALONE)
    words = [sys.executable, "-m", "devsan", "run", "--gpus", "1", "--memory", "24GiB", "train.py"]
    runs = [
        subprocess.Popen(words, cwd=job.folder, env=job.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True)
        for _ in range(2)
    ]  # fmt: skip
    try:
        assert [run.stdout.readline() for run in runs] == ["242\n", "242\n"]
        assert len(job.folders()) == 2
    finally:
        for run in runs:
            run.communicate("\n", timeout=60)
    assert job.left() == ([], [])
