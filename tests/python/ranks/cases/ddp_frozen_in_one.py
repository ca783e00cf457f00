# expect: DV303 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: freeze the same
"""Rank 1 resumes and freezes the embedding; rank 0 does not."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)).cuda()
if rank == 1:
    net[0].requires_grad_(False)
net = DistributedDataParallel(net, device_ids=[rank])
