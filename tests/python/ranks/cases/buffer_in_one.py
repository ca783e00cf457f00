# expect: DV303 or DV305 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: same modules or of one size | waits: ?
"""Only rank 0 keeps a running mean, because only rank 0 writes the log."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
net = torch.nn.Linear(8, 8)
if rank == 0:
    net.register_buffer("running_mean", torch.zeros(8))
net = DistributedDataParallel(net.cuda(), device_ids=[rank])
for _ in range(2):
    net(torch.ones(2, 8, device="cuda")).sum().backward()
print(net.module.weight.grad.sum().item())
