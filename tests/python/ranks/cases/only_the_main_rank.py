# expect: DV304 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: out of the branch | waits: 0
"""The loss is gathered for the log, by the rank that writes the log alone."""

import os
import time

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
loss = torch.ones(1, device="cuda")
dist.all_reduce(loss)
if rank == 0:
    dist.all_reduce(loss)
    print(loss.item())
time.sleep(2)
