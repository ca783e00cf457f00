"""A process group gets a backend for what a library reduces on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.long  # half a minute
@pytest.mark.parametrize(
    "given, written, changed",
    [
        ("", 'backend="nccl"', 'dist.init_process_group(backend="cpu:gloo,cuda:nccl")'),
        ('BACKEND = "nccl"', "BACKEND", 'BACKEND = "cpu:gloo,cuda:nccl"'),
        ('BACKEND = {True: "nccl", False: "nccl"}[True]', "BACKEND", 'dist.init_process_group("cpu:gloo,cuda:nccl")'),
    ],
)
def test_gradients_that_fsdp_offloads_are_clipped(
    fixed_in_ranks: Callable[[str], str], given: str, written: str, changed: str
):
    fixed = fixed_in_ranks(f"""
import os
import torch
import torch.distributed as dist
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
{given}
dist.init_process_group({written})
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
fully_shard(model, offload_policy=CPUOffloadPolicy())
model(torch.ones(2, 4, device="cuda")).sum().backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
print(model[0].weight.grad.to_local().sum().item())
dist.destroy_process_group()
""")
    assert changed in fixed
