# expect: DV305 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: same calls in the same order
"""Rank 0 adds up its loss where rank 1 receives a decision."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", timeout=timedelta(seconds=2))
value = torch.ones(1024, device="cuda")
dist.all_reduce(value)
if rank == 0:
    dist.all_reduce(value)
else:
    dist.broadcast(value, src=0)
print(value.sum().item())
