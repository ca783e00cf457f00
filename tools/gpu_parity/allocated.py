"""How much memory a call takes, by torch's own counters."""

from __future__ import annotations

import gc
import time

import torch


def warm() -> None:
    """cuBLAS takes its workspaces, in this thread and in that of autograd, before anything is measured."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.complex64):
        weight = torch.ones(16, 16, device="cuda", dtype=dtype, requires_grad=True)
        torch.nn.functional.linear(weight @ weight, weight, weight[0]).abs().float().sum().backward()
    torch.cuda.synchronize()


def begin() -> int:
    """The memory that is held, with nothing left of the calls before."""
    gc.collect()
    torch.cuda.synchronize()
    held = -1
    while held != torch.cuda.memory_allocated():  # autograd's thread may still be letting go
        held = torch.cuda.memory_allocated()
        time.sleep(0.001)
    torch.cuda.reset_peak_memory_stats()
    return held


def taken(before: int) -> tuple[int, int]:
    """The bytes at the peak since then, and those that are still held."""
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before, torch.cuda.memory_allocated() - before
