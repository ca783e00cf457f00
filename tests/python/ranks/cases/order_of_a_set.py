# expect: DV303 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: same order | severity: warning
"""Modules are made in the order of a set of names, which each process hashes its own way. DDP sees equal shapes."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
names = ["query", "value"] if rank == 0 else ["value", "query"]
net = torch.nn.ModuleDict({name: torch.nn.Linear(8, 8) for name in names}).cuda()
net = DistributedDataParallel(net, device_ids=[rank])
dist.barrier()
