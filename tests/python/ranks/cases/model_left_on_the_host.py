# expect: DV103 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: GPU | waits: 0
"""The model is moved where it is loaded from the checkpoint, which rank 0 does alone."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
net = torch.nn.Linear(8, 8)
if rank == 0:
    net = net.cuda()
net = DistributedDataParallel(net)
