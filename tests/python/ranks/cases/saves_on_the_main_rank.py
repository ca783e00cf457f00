# expect: DV304 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: out of the branch | waits: 0
"""A function that only the main rank calls gathers what it saves."""

import os
import time

import torch
import torch.distributed as dist


def is_main_process():
    return dist.get_rank() == 0


def full_state(part):
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part)
    return torch.cat(parts)


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
shard = torch.ones(16, device="cuda")
dist.barrier()
if is_main_process():
    print(full_state(shard).sum().item())
time.sleep(1)
