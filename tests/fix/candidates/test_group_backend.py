"""A process group gets a backend for what a library reduces on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.long  # half a minute
def test_gradients_that_fsdp_offloads_are_clipped(fixed_in_ranks: Callable[[str], str]):
    fixed = fixed_in_ranks("""
import os
import torch
import torch.distributed as dist
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group(backend="nccl")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
fully_shard(model, offload_policy=CPUOffloadPolicy())
model(torch.ones(2, 4, device="cuda")).sum().backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
print(model[0].weight.grad.to_local().sum().item())
dist.destroy_process_group()
""")
    assert 'dist.init_process_group(backend="cpu:gloo,cuda:nccl")' in fixed
