"""Ranks that fail, each in its own way: failures.py <way>. The last line is what a rank was told."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import devsan

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
LONG = timedelta(seconds=60)


def start(timeout: timedelta = LONG) -> None:
    dist.init_process_group("nccl", timeout=timeout)


def same_gpu() -> None:
    """Nobody calls set_device."""
    start()
    try:
        dist.all_reduce(torch.ones(2, device="cuda"))
    finally:
        if RANK == 0:
            time.sleep(2)  # it holds the store, from which the others still read who the ranks are


def same_gpu_later() -> None:
    """A barrier guesses a GPU for each rank; the first tensor lies on cuda:0 everywhere."""
    start()
    dist.barrier(device_ids=[RANK])
    dist.all_reduce(torch.ones(2, device="cuda:0"))


def own_gpu_each() -> None:
    """One GPU is visible to each rank, and is its cuda:0: these are different ones."""
    start()
    tensor = torch.ones(2, device="cuda:0")
    dist.all_reduce(tensor)
    assert tensor.tolist() == [SIZE, SIZE]
    dist.destroy_process_group()


def never_comes() -> None:
    """The last rank is not there for the first collective."""
    start(timedelta(seconds=4))
    torch.cuda.set_device(RANK)
    if RANK == SIZE - 1:
        time.sleep(8)
        return
    dist.all_reduce(torch.ones(2, device="cuda"))


def leaves() -> None:
    """The last rank stays away from a later collective."""
    start()
    torch.cuda.set_device(RANK)
    tensor = torch.ones(2, 3, device="cuda")
    dist.all_reduce(tensor)
    if RANK == SIZE - 1:
        time.sleep(5)
        return
    dist.distributed_c10d._get_default_group().allreduce(
        [tensor], dist.AllreduceOptions() if RANK else options(2)
    ).wait(*([timedelta(seconds=2)] if RANK else []))


def options(seconds: float) -> dist.AllreduceOptions:
    chosen = dist.AllreduceOptions()
    chosen.timeout = timedelta(seconds=seconds)
    return chosen


def killed() -> None:
    """The last rank is killed while the others wait for it."""
    start()
    torch.cuda.set_device(RANK)
    tensor = torch.ones(2, 3, device="cuda")
    dist.all_reduce(tensor)
    print("ready", flush=True)
    if RANK == SIZE - 1:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(tensor)


def fails_with_work_under_way() -> None:
    """A program that ends by an error does not wait for what it has started."""
    start()
    torch.cuda.set_device(RANK)
    tensor = torch.ones(1 << 20, device="cuda")
    dist.all_reduce(tensor)
    if RANK == 0:
        dist.all_reduce(tensor, async_op=True)
        dist.isend(tensor, SIZE - 1)
        dist.irecv(torch.empty(4, device="cuda"), SIZE - 1)
        raise ValueError("an error of the program's own")
    time.sleep(4)


if __name__ == "__main__":
    if sys.argv[1] == "own_gpu_each":
        os.environ["CUDA_VISIBLE_DEVICES"] = str(RANK)
    devsan.emulate(gpus=SIZE).start()
    try:
        globals()[sys.argv[1]]()
    except dist.DistBackendError as error:
        print(str(error).replace("\n", " | "), flush=True)
        os._exit(3)
