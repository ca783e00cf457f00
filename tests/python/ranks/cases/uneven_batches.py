# expect: DV304 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: same number | waits: 0
"""Rank 1 has one batch less, and ends while rank 0 waits for its gradients."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
net = DistributedDataParallel(torch.nn.Linear(8, 8).cuda(), device_ids=[rank])
for batch in torch.ones(3 - rank, 2, 8):
    loss = net(batch.cuda()).sum()
    loss.backward()
    dist.all_reduce(loss)
