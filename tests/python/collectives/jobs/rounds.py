"""Groups, and emulations, one after the other in one process: rounds.py <way>."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

import devsan

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
STORE = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), SIZE, RANK == 0)


def work_in_a_group(name: str) -> None:
    """All that a group has threads for: collectives, small messages, a sub-group, futures."""
    dist.init_process_group(
        "nccl", store=dist.PrefixStore(name, STORE), rank=RANK, world_size=SIZE, timeout=timedelta(seconds=40)
    )
    tensor = torch.ones(3, device="cuda")
    dist.all_reduce(tensor)
    work = dist.all_reduce(tensor, async_op=True)
    assert work is not None
    work.get_future().then(lambda done: done.value()).wait()
    if RANK == 0:
        dist.send(tensor, 1)
    else:
        dist.recv(tensor, 0)
    dist.all_reduce(tensor, group=dist.new_group())
    assert tensor.tolist() == [SIZE**3] * 3
    dist.destroy_process_group()


def threads() -> Counter[str]:
    found = Counter[str]()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # one that has ended meanwhile
            found[(task / "comm").read_text(encoding="utf-8").strip()] += 1
    return found


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def groups() -> None:
    """Ten rounds leave as many threads and descriptors as two have left."""
    devsan.emulate(gpus=SIZE).start()
    torch.cuda.set_device(RANK)
    work_in_a_group("first")
    work_in_a_group("second")
    before, open_before = threads(), files()
    for turn in range(10):
        work_in_a_group(str(turn))
    end = time.monotonic() + 10  # a busy machine
    while (threads() - before or files() > open_before) and time.monotonic() < end:
        time.sleep(0.05)
    assert not threads() - before, f"expected {before}, got {threads()}"
    assert files() <= open_before, f"expected {open_before} descriptors, got {files()}"


def emulations() -> None:
    """The second emulation has nccl again; between them torch's own is back."""
    for turn in range(2):
        own = getattr(dist, "ProcessGroupNCCL", None)
        with devsan.emulate(gpus=SIZE):
            assert dist.is_nccl_available()
            torch.cuda.set_device(RANK)
            work_in_a_group(f"emulation {turn}")
        assert getattr(dist, "ProcessGroupNCCL", None) is own


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    STORE.set(f"done {RANK}", "")
    STORE.wait([f"done {rank}" for rank in range(SIZE)], timedelta(seconds=40))  # rank 0 holds the store
