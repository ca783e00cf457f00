# expect: DV305 | gpus: 2 | ranks: 0 of 2 | owner: - | fix: out of the branch | waits: ?
"""A callback averages over the ranks, and is called by the main process alone; the others go on to their gradients."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", timeout=timedelta(seconds=3))
is_world_process_zero = rank == 0


def mean_norm(model):
    norm = sum(each.norm() for each in model.parameters())
    dist.all_reduce(norm)
    return norm / 2


model = DistributedDataParallel(torch.nn.Linear(8, 8).cuda(), device_ids=[rank])
for _ in range(2):
    model(torch.ones(2, 8, device="cuda")).sum().backward()
    if is_world_process_zero:
        print(mean_norm(model).item())
