# expect: DV302 | gpus: 2 | memory: 1GiB | ranks: 1 of 2 | owner: program | fix: rank's GPU
"""Rank 1 leaves a cache on GPU 0, and rank 0 runs out of memory: who fails is not who is to be changed."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
weight = torch.empty(32, 2**20, device="cuda")
if rank == 1:
    cache = torch.empty(64, 2**20, device="cuda:0")
dist.barrier()
if rank == 0:
    more = torch.empty(200, 2**20, device="cuda")
dist.barrier()
