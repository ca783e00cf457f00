# expect: DV304 | gpus: 2 | ranks: 0 of 2 | owner: - | fix: let all ranks decide together | waits: 1
"""Rank 0 validates, finds nothing better any more, and leaves the loop; nobody tells the others."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(8, 1).cuda(), device_ids=[rank])
best, bad = float("inf"), 0
for _ in range(4):
    model(torch.ones(2, 8, device="cuda")).sum().backward()
    if rank == 0:
        score = model.module.weight.sum().item()
        best, bad = (score, 0) if score < best else (best, bad + 1)
        if bad > 0:
            break
